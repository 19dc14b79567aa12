"""The part of the SARIF 2.1.0 schema that the report uses: of each object its properties, and which it must have.

The schema closes every object but property bags, so a misspelt property is a fault as a missing one is.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

Check = Callable[[Any], bool]
_LEVELS = ("none", "note", "warning", "error")


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _index(value: Any) -> bool:
    return isinstance(value, int) and value >= -1


def _rank(value: Any) -> bool:
    return isinstance(value, int | float) and 0 <= value <= 100


def _level(value: Any) -> bool:
    return value in _LEVELS


def _bag(value: Any) -> bool:
    return isinstance(value, dict)


def _uri(value: Any) -> bool:
    """An absolute URI or a relative reference: ASCII, and no character that must be escaped in one."""
    allowed = value.isascii() and not any(sign in ' "<>\\^`{|}\n\t' for sign in value)
    return allowed and (urlsplit(value).scheme != "" or ":" not in value.split("/", 1)[0])


# Object by object: a "*" marks what is required, "[" an array of such objects and "[+" one that is never empty.
OBJECTS: Mapping[str, Mapping[str, str | Check]] = {
    "log": {"$schema": _uri, "*version": lambda value: value == "2.1.0", "*runs": "[run"},
    "run": {
        "*tool": "tool",
        "columnKind": lambda value: value in ("utf16CodeUnits", "unicodeCodePoints"),
        "originalUriBaseIds": lambda value: all(item["uri"].endswith("/") for item in value.values()),
        "invocations": "[invocation",
        "results": "[result",
    },
    "tool": {"*driver": "driver"},
    "driver": {"*name": _text, "version": _text, "semanticVersion": _text, "rules": "[rule"},
    "rule": {
        "*id": _text,
        "name": _text,
        "helpUri": _uri,
        "shortDescription": "described",
        "fullDescription": "described",
        "help": "described",
        "defaultConfiguration": "configuration",
    },
    "described": {"*text": _text, "markdown": _text},
    "configuration": {"level": _level},
    "invocation": {"*executionSuccessful": _flag, "toolExecutionNotifications": "[notification"},
    "notification": {"*message": "message", "level": _level, "locations": "[location"},
    "message": {"*text": _text},
    "result": {
        "*message": "message",
        "ruleId": _text,
        "ruleIndex": _index,
        "level": _level,
        "rank": _rank,
        "locations": "[location",
        "codeFlows": "[code flow",
        "fixes": "[fix",
        "partialFingerprints": _bag,
        "properties": _bag,
    },
    "location": {"physicalLocation": "place", "message": "message"},
    "place": {"*artifactLocation": "artifact", "region": "region"},
    "artifact": {"*uri": _uri, "uriBaseId": _text},
    "region": {"*startLine": _count, "startColumn": _count, "endLine": _count, "endColumn": _count},
    "code flow": {"*threadFlows": "[+thread flow"},
    "thread flow": {"*locations": "[+step"},
    "step": {"location": "location"},
    "fix": {"description": "message", "*artifactChanges": "[+change"},
    "change": {"*artifactLocation": "artifact", "*replacements": "[+replacement"},
    "replacement": {"*deletedRegion": "region", "insertedContent": "content"},
    "content": {"text": _text},
}
# What GitHub's code scanning asks for beyond the schema.
GITHUB = {
    "rule": ("shortDescription", "fullDescription", "help"),
    "result": ("ruleId", "locations", "partialFingerprints"),
}


def faults(value: Any, kind: str = "log", path: str = "$") -> Iterator[str]:
    """What is wrong with an object of this kind, each fault with its path."""
    if not isinstance(value, dict):
        yield f"{path}: not an object"
        return
    known = OBJECTS[kind]
    required = {name[1:] for name in known if name.startswith("*")} | set(GITHUB.get(kind, ()))
    for name in sorted(required - value.keys()):
        yield f"{path}.{name}: missing"
    properties = {name.removeprefix("*"): check for name, check in known.items()}
    for name, item in value.items():
        if name not in properties:
            yield f"{path}.{name}: unknown"
        else:
            yield from _property(item, properties[name], f"{path}.{name}")


def _property(item: Any, check: str | Check, path: str) -> Iterator[str]:
    if not isinstance(check, str):
        if not check(item):
            yield f"{path}: {item!r}"
    elif not check.startswith("["):
        yield from faults(item, check, path)
    elif not isinstance(item, list):
        yield f"{path}: not an array"
    elif check.startswith("[+") and not item:
        yield f"{path}: empty"
    else:
        for index, element in enumerate(item):
            yield from faults(element, check.lstrip("[+"), f"{path}[{index}]")
