"""Requests as they are sent: what stands in them in cache order, whichever SDK or wire format, and how much of it two
of them share."""

from promptopt.wire.formats import Endpoint, Operation, find_endpoint, operations, request_keys
from promptopt.wire.plain import plain
from promptopt.wire.prefix import OTHER_TEXT, THE_END, CommonPrefix, Difference, common_prefix
from promptopt.wire.reading import Piece, SentMessage, SentPrompt, SentRequest, read_prompt, read_request

__all__ = [
    "OTHER_TEXT",
    "THE_END",
    "CommonPrefix",
    "Difference",
    "Endpoint",
    "Operation",
    "Piece",
    "SentMessage",
    "SentPrompt",
    "SentRequest",
    "common_prefix",
    "find_endpoint",
    "operations",
    "plain",
    "read_prompt",
    "read_request",
    "request_keys",
]
