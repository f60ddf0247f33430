# The image vitrine/browser: the image vitrine/code with Chromium and fonts, for the browser runner.
#
# Chromium runs as the user `vitrine`, without a display.

ARG BASE=vitrine/code
FROM ${BASE}

ARG PACKAGES="chromium chromium-sandbox fonts-liberation fonts-noto-core fonts-noto-color-emoji"
RUN dpkg --status ${PACKAGES} >/dev/null 2>&1 \
    || { apt-get update \
        && apt-get install -y --no-install-recommends ${PACKAGES} \
        && rm -rf /var/lib/apt/lists/*; }

CMD ["tail", "-f", "/dev/null"]
