# The image vitrine/code: what the Python, JavaScript and Shell runners and the file tools need.
#
# Commands run as the user `vitrine`; the container's own user stays root, since execd can only then give a command
# another user than its own, and code cannot touch execd or read its token.

ARG BASE=debian:bookworm-slim
FROM ${BASE}

ARG PACKAGES="bash ca-certificates git nodejs procps python3 tar"
# A base that has them all needs no network.
RUN dpkg --status ${PACKAGES} >/dev/null 2>&1 \
    || { apt-get update \
        && apt-get install -y --no-install-recommends ${PACKAGES} \
        && rm -rf /var/lib/apt/lists/*; }

RUN useradd --uid 1000 --create-home --shell /bin/bash vitrine \
    && for directory in /workspace /workspace/inputs /workspace/outputs /workspace/skills /workspace/data /workspace/.mcp; do \
        install -d -o vitrine -g vitrine -m 755 "$directory"; \
    done

ENV LANG=C.UTF-8
WORKDIR /workspace
CMD ["tail", "-f", "/dev/null"]
