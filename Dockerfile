# SPDX-License-Identifier: BSD-2-Clause
# From bare Debian to every test passed, with nothing but the two commands of
# README.md:
#   docker build -t ustreams .
#   docker run --rm ustreams        # strperf, measuring in the container
FROM debian:bookworm
WORKDIR /ustreams
COPY . .
RUN ./quickstart check --yes
CMD ["build/default/utils/strperf", "pipe", "--peers", "pipe"]
