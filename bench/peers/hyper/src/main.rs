// SPDX-License-Identifier: MIT
//
// A peer for the bench: hello by Rust's hyper, on one thread, answers of pipelined requests coalesced. With a
// certificate and a key it speaks TLS by rustls; with --http2 it speaks HTTP/2 instead of HTTP/1.
use std::convert::Infallible;
use std::error::Error;
use std::fs::read;
use std::future::Future;
use std::sync::Arc;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderValue, CONTENT_TYPE};
use hyper::rt::Executor;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::TlsAcceptor;

async fn hello(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut response = Response::new(Full::new(Bytes::from_static(b"Hello, World!")));
    let plain = HeaderValue::from_static("text/plain");
    response.headers_mut().insert(CONTENT_TYPE, plain);
    Ok(response)
}

/// Streams run on the one thread.
#[derive(Clone)]
struct Here;

impl<F: Future + 'static> Executor<F> for Here {
    fn execute(&self, future: F) {
        tokio::task::spawn_local(async move {
            future.await;
        });
    }
}

async fn serve_stream<S: AsyncRead + AsyncWrite + Unpin + 'static>(stream: S, is_http2: bool) {
    if is_http2 {
        let connection = http2::Builder::new(Here).serve_connection(TokioIo::new(stream), service_fn(hello));
        let _ = connection.await;
        return;
    }
    let connection = http1::Builder::new()
        .pipeline_flush(true)
        .serve_connection(TokioIo::new(stream), service_fn(hello));
    let _ = connection.await;
}

async fn serve(port: u16, tls: Option<TlsAcceptor>, is_http2: bool) -> std::io::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let tls = tls.clone();
        tokio::task::spawn_local(async move {
            match tls {
                None => serve_stream(stream, is_http2).await,
                Some(tls) => {
                    if let Ok(stream) = tls.accept(stream).await {
                        serve_stream(stream, is_http2).await;
                    }
                }
            }
        });
    }
}

fn acceptor(certificate: &str, key: &str, is_http2: bool) -> Result<TlsAcceptor, Box<dyn Error>> {
    let chain = rustls_pemfile::certs(&mut read(certificate)?.as_slice()).collect::<Result<Vec<_>, _>>()?;
    let key = rustls_pemfile::private_key(&mut read(key)?.as_slice())?.ok_or("no key")?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    if is_http2 {
        config.alpn_protocols = vec![b"h2".to_vec()];
    }
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn main() -> Result<(), Box<dyn Error>> {
    let (options, words): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|word| word.starts_with("--"));
    let is_http2 = options.contains(&"--http2".to_string());
    let tls = match words.len() {
        1 => None,
        3 => Some(acceptor(&words[1], &words[2], is_http2)?),
        _ => return Err("usage: hello [--http2] PORT [CERTIFICATE KEY]".into()),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, serve(words[0].parse()?, tls, is_http2))?;
    Ok(())
}
