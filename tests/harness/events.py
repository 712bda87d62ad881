# SPDX-License-Identifier: MIT
"""A reader of text/event-stream by the letter of the HTML Living Standard, section 9.2.6."""

import dataclasses
import re


@dataclasses.dataclass
class Event:
    data: str
    name: str = "message"
    id: str = ""


class EventReader:
    """Takes decoded octets, gives events, and keeps what a client keeps."""

    def __init__(self):
        self.buffer = ""
        self.comments = []
        self.retry = None
        self.last_id = ""
        self._data, self._name, self._id = "", "", ""

    def feed(self, octets):
        self.buffer += octets.decode()
        events = []
        while match := re.search(r"\r\n|\n|\r(?!\Z)", self.buffer):
            line, self.buffer = self.buffer[: match.start()], self.buffer[match.end() :]
            event = self._line(line)
            if event:
                events.append(event)
        return events

    def _line(self, line):
        if not line:
            return self._dispatch()
        name, colon, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if not name and colon:
            self.comments.append(value)
        elif name == "event":
            self._name = value
        elif name == "data":
            self._data += value + "\n"
        elif name == "id" and "\0" not in value:
            self._id = value
        elif name == "retry" and value.isascii() and value.isdigit():
            self.retry = int(value)
        else:
            assert name in ("id", "retry"), f"a server has no use for {line!r}"
        return None

    def _dispatch(self):
        self.last_id = self._id
        data, name, self._data, self._name = self._data, self._name, "", ""
        return Event(data[:-1], name or "message", self.last_id) if data else None
