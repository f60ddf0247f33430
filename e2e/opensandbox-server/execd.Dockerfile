# The image from which the OpenSandbox server copies execd into each sandbox: two files at fixed places.
ARG BASE
FROM ${BASE}
COPY execd /execd
COPY bootstrap.sh /bootstrap.sh
