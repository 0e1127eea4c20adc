"""The loads of the proxy benchmark, and what they must cost."""

from dataclasses import dataclass

# What a desktop browser sends: twelve fields, about 800 bytes.
BROWSER = "".join(line + "\r\n" for line in (
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
    "Accept-Language: en-GB,en;q=0.9,de;q=0.7",
    "Accept-Encoding: gzip, deflate, br, zstd",
    "Referer: https://shop.example.com/furniture/chairs?page=3&sort=price&colour=oak",
    "Cookie: session=9d2f6c1b7a9e8d4c3fb1a2e0; theme=dark; consent=1; visitor=1234567890.1717171717; basket=8c1f",
    "Sec-Fetch-Dest: document",
    "Sec-Fetch-Mode: navigate",
    "Sec-Fetch-Site: same-origin",
    "Upgrade-Insecure-Requests: 1",
    "Cache-Control: max-age=0",
    'Sec-CH-UA: "Chromium";v="126", "Not.A/Brand";v="24"',
))


@dataclass(frozen=True)
class Scenario:
    key: str
    title: str
    path: str
    expect: int
    connections: int = 64
    post: int = 0
    close: bool = False
    fields: str = ""
    saturates: bool = True  # one connection waits for its answer: no proxy is busy all the time
    relay: bool = True      # a relay would open a connection to a node for each request

    def words(self, fields_file):
        text = f"path={self.path} expect={self.expect} connections={self.connections}"
        if self.post:
            text += f" post={self.post}"
        if self.close:
            text += " close=1"
        if self.fields:
            text += f" fields={fields_file}"
        return text


SCENARIOS = {s.key: s for s in (
    Scenario("a", "64 B", "/64", 64),
    Scenario("b", "1 KiB, browser's head", "/1k", 1024, fields=BROWSER),
    Scenario("c", "16 KiB", "/16k", 16384),
    Scenario("d", "1 MiB, 16 conns", "/1m", 1048576, connections=16),
    Scenario("e", "Connection: close", "/64", 64, close=True, relay=False),
    Scenario("i", "POST of 16 KiB", "/64", 64, post=16384),
    Scenario("m", "64 B, 512 conns", "/64", 64, connections=512),
    Scenario("1", "64 B, one conn", "/64", 64, connections=1, saturates=False),
)}

# CPU time per request relative to the better of the peers: (must, aim). "user" is the user part of scenario a.
GOALS = {
    "uring": {"a": (0.58, 0.50), "b": (0.54, 0.45), "c": (0.62, 0.50), "d": (0.70, 0.58), "e": (0.95, 0.80),
              "i": (0.72, 0.60), "m": (0.45, 0.32), "1": (0.95, 0.82), "user": (0.35, 0.20)},
    "epoll": {"a": (0.76, None), "b": (0.76, None), "c": (0.78, None), "d": (0.85, None), "e": (1.05, None),
              "i": (0.78, None), "m": (0.66, None), "1": (0.95, None), "user": (0.50, None)},
}
