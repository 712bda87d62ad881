# SPDX-License-Identifier: MIT
"""Sites as they are run in production: what each server is told for text that lies compressed, for text that is compressed once
and kept, for an access log, and for a site among a thousand. A server that cannot do it has no part in it."""

import gzip
import os
import time

SITES = 1000
SETTLED_S = 2.1  # Skua takes no file for settled that changed within two seconds, and compresses none of these
ALIKE = 0.01     # the part by which contents of two compressors of one level may differ


def write_texts(place, octets, content):
    """The same text twice: with its .gz beside it, and alone."""
    place.write(f"www/{octets}.txt", content)
    os.makedirs(place.path("pre"), exist_ok=True)
    place.write(f"pre/{octets}.txt", content)
    with open(place.write(f"pre/{octets}.txt.gz", b""), "wb") as file, gzip.GzipFile("", "wb", 9, file, 0) as packed:
        packed.write(content)


def wait_until_settled(workload, place):
    """Waits until the workload's file is old enough, so that it is compressed, and answered under one tag in every round."""
    path = os.path.join(root_of(workload, place), f"{workload.octets}.txt")
    time.sleep(max(0, os.stat(path).st_ctime + SETTLED_S - time.time()))


def check_coded(workload, place, content, skuas):
    """Raises unless what a server sends is what lies compressed, or where it compresses is as long as what Skua sends.
    skuas: the octets of Skua's content; None: it is Skua, or Skua takes no part."""
    if workload.site == "precompressed":
        with open(os.path.join(root_of(workload, place), f"{workload.octets}.txt.gz"), "rb") as file:
            if content != file.read():
                raise RuntimeError("the content is not the file that lies compressed")
    elif skuas and abs(len(content) - skuas) > ALIKE * skuas:
        raise RuntimeError(f"compressed to {len(content)} octets, where Skua has {skuas}")


def log_of(place, name, port):
    return place.path(f"{name}-{port}.access.log")


def root_of(workload, place):
    return place.path("pre") if workload.site == "precompressed" else place.www


def skua(program, workload, place, port, backend="auto", one=False):
    """one: the site alone where the others have a thousand."""
    format_ = {"log-combined": "combined", "log-json": "json"}.get(workload.site)
    log = f"{log_of(place, 'skua', port)} {format_}" if format_ else "off"
    count = SITES if workload.site == "sites" and not one else 1
    compress = "gzip" if workload.site == "compressed" else "off"
    sites = "".join(f"site {'*' if i == count - 1 else f'site{i}.test'} {{\n    root {root_of(workload, place)}\n    compress {compress}\n}}\n"
                    for i in range(count))
    path = place.write(f"skua-{port}.conf", f"listen 127.0.0.1:{port}\nworkers 1\nbackend {backend}\nsandbox off\naccess_log {log}\n{sites}")
    return [program, "-c", path]


def nginx(workload, place, port):
    """Lines for its block of http."""
    json = ("log_format json escape=json '{\"ts\":\"$msec\",\"remote_ip\":\"$remote_addr\",\"method\":\"$request_method\",\"uri\":\"$request_uri\","
            "\"proto\":\"$server_protocol\",\"host\":\"$host\",\"referer\":\"$http_referer\",\"user_agent\":\"$http_user_agent\","
            "\"duration\":$request_time,\"size\":$body_bytes_sent,\"status\":$status}';\n")
    log = log_of(place, "nginx", port)
    return {"precompressed": "gzip_static on;", "compressed": "gzip on; gzip_types text/plain; gzip_comp_level 6;",
            "log-combined": f"access_log {log} combined;", "log-json": f"{json}    access_log {log} json;"}.get(workload.site)


def h2o(workload, place, port):
    return {"precompressed": "file.send-compressed: ON", "compressed": "compress: ON",
            "log-combined": f"access-log: {log_of(place, 'h2o', port)}"}.get(workload.site)


def lighttpd(workload, place, port):
    if workload.site == "compressed":
        cache = place.path("lighttpd-cache")
        os.makedirs(cache, exist_ok=True)
        return f'server.modules += ( "mod_deflate" )\ndeflate.mimetypes = ( "text/plain" )\ndeflate.allowed-encodings = ( "gzip" )\n' \
               f'deflate.cache-dir = "{cache}"\n'
    if workload.site == "log-combined":
        return f'server.modules += ( "mod_accesslog" )\naccesslog.filename = "{log_of(place, "lighttpd", port)}"\n'
    return None


def caddy(workload, place, port):
    return {"precompressed": "file_server {\n        precompressed gzip\n    }", "compressed": "encode gzip\n    file_server",
            "log-json": f"log {{\n        output file {log_of(place, 'caddy', port)}\n    }}\n    file_server"}.get(workload.site)
