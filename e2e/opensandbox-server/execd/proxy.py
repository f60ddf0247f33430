"""The way through execd to another port of the sandbox."""

import http.client

from wire import Exchange

EXECD_PORT = 44772
HOP_BY_HOP = {"connection", "keep-alive", "te", "trailers", "transfer-encoding", "upgrade", "host", "content-length"}


def forward(exchange: Exchange, port: int, path: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {name: value for name, value in exchange.headers.items() if name.lower() not in HOP_BY_HOP}
    data = b"".join(iter(lambda: exchange.body.read(1 << 16), b""))
    target = f"{path}?{exchange.query_text}" if exchange.query_text else path
    try:
        connection.request(exchange.handler.command, target, data, headers)
        answer = connection.getresponse()
        found = [(name, value) for name, value in answer.getheaders() if name.lower() not in HOP_BY_HOP]
        exchange.reply(answer.status, answer.read(), found)
    except OSError:
        exchange.text(502, "Bad Gateway")
    finally:
        connection.close()
