# docker build -t packenv . ; docker run --rm -v "$PWD:/data" packenv evaluate tasks.csv --servers 3
FROM python:3.12-slim
COPY . /packenv
RUN pip install --no-cache-dir -c /packenv/constraints.txt '/packenv[agents,report]'
RUN useradd --create-home user
USER user
WORKDIR /data
ENTRYPOINT ["packenv"]
CMD ["--help"]
