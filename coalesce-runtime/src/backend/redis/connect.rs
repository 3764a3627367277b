//! Redis URLs taken apart: what is wrong with one is said in one sentence that repeats nothing of it.

use std::fmt;

use url::{ParseError, Url};

use super::slots::Place;

/// Where Redis is and who we are there.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) topology: Topology,
    /// Host and port of every seed, the one in front of the path first.
    pub(super) nodes: Vec<(String, u16)>,
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
    pub(super) database: Option<u8>,
    pub(super) tls: bool,
}

/// What stands at the address.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Topology {
    /// One server.
    Single,
    /// Nodes of a cluster.
    Cluster,
    /// Sentinels that know the server.
    Sentinel {
        service: String,
        user: Option<String>,
        password: Option<String>,
    },
}

/// Why a text is not the URL of a Redis.
///
/// Its message says what is wrong and what would be right, and never repeats any part of the URL:
/// a mistyped URL has its password in unexpected places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UrlProblem {
    /// It is not a URL at all.
    NotAUrl,
    /// The scheme is not one of Redis.
    Scheme,
    /// There is no host.
    Host,
    /// The port is not one.
    Port,
    /// The user or password is not percent-encoded UTF-8.
    Encoding,
    /// There is a user and no password.
    UserWithoutPassword,
    /// The path is not a database number.
    Database,
    /// A cluster has only one database.
    DatabaseInCluster,
    /// There is something behind a `#`.
    Fragment,
    /// An option behind the `?` is not known, or not at this topology.
    Option,
    /// A `node` is not a host and a port.
    Node,
    /// Sentinels were named, but not the service they watch.
    ServiceName,
    /// TLS was asked for and is not compiled in.
    TlsNotBuilt,
    /// The system's root certificates cannot be read.
    RootCertificates,
}

impl fmt::Display for UrlProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAUrl => "the Redis URL is not a URL: write it like redis://host:6379/0",
            Self::Scheme => {
                "the Redis URL has an unknown scheme: use redis://, rediss://, redis-cluster://, \
                 rediss-cluster://, redis-sentinel:// or rediss-sentinel://"
            }
            Self::Host => "the Redis URL names no host: write it like redis://host:6379",
            Self::Port => {
                "the Redis URL's port is not a number from 1 to 65535: write it like redis://host:6379, \
                 more nodes as ?node=host:port, and / ? # @ % in a password percent-encoded"
            }
            Self::Encoding => {
                "the Redis URL's user or password is not UTF-8 in percent-encoding: \
                 write % itself as %25"
            }
            Self::UserWithoutPassword => {
                "the Redis URL has a user but no password: write redis://user:password@host, or \
                 redis://:password@host for the default user"
            }
            Self::Database => {
                "the Redis URL's path is not a database number from 0 to 255: write it like redis://host:6379/0"
            }
            Self::DatabaseInCluster => {
                "a Redis cluster has only the database 0: leave the path of the Redis URL away"
            }
            Self::Fragment => {
                "the Redis URL has something behind a #: write # in a password as %23"
            }
            Self::Option => {
                "the Redis URL has an unknown option: node=host:port works with clusters and sentinels, \
                 and sentinelServiceName, sentinelUsername and sentinelPassword with sentinels"
            }
            Self::Node => {
                "a node in the Redis URL is not a host and a port: write it like ?node=host:6379"
            }
            Self::ServiceName => {
                "the Redis URL names sentinels but not the service: add ?sentinelServiceName=name"
            }
            Self::TlsNotBuilt => {
                "the Redis URL asks for TLS: enable the cargo feature `tls` of coalesce, or use the \
                 scheme without the second s"
            }
            Self::RootCertificates => {
                "the system's root certificates cannot be read: install them, or name a file of them in SSL_CERT_FILE"
            }
        })
    }
}

impl std::error::Error for UrlProblem {}

impl Address {
    /// Where the server is. Of several addresses the first.
    pub(super) fn place(&self) -> Place {
        let first = self.nodes.first().cloned().unwrap_or_default();
        Place::new(first.0, first.1)
    }

    /// The nodes of a cluster that are named; none where there is no cluster.
    pub(super) fn seeds(&self) -> Vec<Place> {
        let nodes = match self.topology {
            Topology::Cluster => &*self.nodes,
            _ => &[],
        };
        let place = |(host, port): &(String, u16)| Place::new(host, *port);
        nodes.iter().map(place).collect()
    }

    /// Reads a URL.
    pub(super) fn parse(text: &str) -> Result<Self, UrlProblem> {
        let url = Url::parse(text.trim()).map_err(|error| match error {
            ParseError::InvalidPort => UrlProblem::Port,
            ParseError::EmptyHost => UrlProblem::Host,
            _ => UrlProblem::NotAUrl,
        })?;
        let (kind, tls) = kind_of(&url).ok_or(UrlProblem::Scheme)?;
        if url.fragment().is_some() {
            return Err(UrlProblem::Fragment);
        }
        let mut options = Options::of(&url, kind)?;
        let mut nodes = vec![(host_of(&url)?, port_of(&url, kind)?)];
        nodes.append(&mut options.nodes);
        let (user, password) = credentials_of(&url)?;
        Ok(Self {
            database: database_of(&url, kind)?,
            topology: options.topology(kind)?,
            nodes,
            user,
            password,
            tls,
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Single,
    Cluster,
    Sentinel,
}

fn kind_of(url: &Url) -> Option<(Kind, bool)> {
    let (scheme, suffix) = url.scheme().split_once('-').unwrap_or((url.scheme(), ""));
    let tls = match scheme {
        "redis" => false,
        "rediss" => true,
        _ => return None,
    };
    match suffix {
        "" if !url.scheme().ends_with('-') => Some((Kind::Single, tls)),
        "cluster" => Some((Kind::Cluster, tls)),
        "sentinel" => Some((Kind::Sentinel, tls)),
        _ => None,
    }
}

fn host_of(url: &Url) -> Result<String, UrlProblem> {
    let host = url.host_str().unwrap_or_default();
    if host.is_empty() {
        Err(UrlProblem::Host)
    } else {
        decoded(host)
    }
}

fn port_of(url: &Url, kind: Kind) -> Result<u16, UrlProblem> {
    let usual = if kind == Kind::Sentinel {
        26_379
    } else {
        6_379
    };
    match url.port().unwrap_or(usual) {
        0 => Err(UrlProblem::Port),
        port => Ok(port),
    }
}

fn credentials_of(url: &Url) -> Result<(Option<String>, Option<String>), UrlProblem> {
    let password = url.password().filter(|text| !text.is_empty());
    let user = Some(url.username()).filter(|text| !text.is_empty());
    if user.is_some() && password.is_none() {
        return Err(UrlProblem::UserWithoutPassword);
    }
    Ok((
        user.map(decoded).transpose()?,
        password.map(decoded).transpose()?,
    ))
}

fn database_of(url: &Url, kind: Kind) -> Result<Option<u8>, UrlProblem> {
    let path = url.path().trim_start_matches('/');
    if path.is_empty() {
        return Ok(None);
    }
    let digits = path.bytes().all(|byte| byte.is_ascii_digit());
    match path.parse() {
        // Every connection begins there, and a user of least rights may not even choose it.
        Ok(0) if digits => Ok(None),
        Ok(_) if digits && kind == Kind::Cluster => Err(UrlProblem::DatabaseInCluster),
        Ok(number) if digits => Ok(Some(number)),
        _ => Err(UrlProblem::Database),
    }
}

/// What stands behind the `?`.
#[derive(Default)]
struct Options {
    nodes: Vec<(String, u16)>,
    service: Option<String>,
    user: Option<String>,
    password: Option<String>,
}

impl Options {
    fn of(url: &Url, kind: Kind) -> Result<Self, UrlProblem> {
        let mut options = Self::default();
        for (name, value) in url.query_pairs() {
            match (&*name, kind) {
                ("node", Kind::Cluster | Kind::Sentinel) => options.nodes.push(node(&value)?),
                ("sentinelServiceName", Kind::Sentinel) => options.service = Some(value.into()),
                ("sentinelUsername", Kind::Sentinel) => options.user = Some(value.into()),
                ("sentinelPassword", Kind::Sentinel) => options.password = Some(value.into()),
                _ => return Err(UrlProblem::Option),
            }
        }
        Ok(options)
    }

    fn topology(self, kind: Kind) -> Result<Topology, UrlProblem> {
        Ok(match kind {
            Kind::Single => Topology::Single,
            Kind::Cluster => Topology::Cluster,
            Kind::Sentinel => Topology::Sentinel {
                service: self
                    .service
                    .filter(|name| !name.is_empty())
                    .ok_or(UrlProblem::ServiceName)?,
                user: self.user,
                password: self.password,
            },
        })
    }
}

fn node(text: &str) -> Result<(String, u16), UrlProblem> {
    let (host, port) = text.rsplit_once(':').ok_or(UrlProblem::Node)?;
    match port.parse() {
        Ok(port) if port > 0 && !host.is_empty() => Ok((host.to_owned(), port)),
        _ => Err(UrlProblem::Node),
    }
}

/// A text with its `%XX` read back.
fn decoded(text: &str) -> Result<String, UrlProblem> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => byte_of(rest.next(), rest.next())?,
            plain => plain,
        });
    }
    String::from_utf8(bytes).map_err(|_| UrlProblem::Encoding)
}

/// The byte behind two hexadecimal digits.
fn byte_of(high: Option<u8>, low: Option<u8>) -> Result<u8, UrlProblem> {
    let digit = |digit: Option<u8>| char::from(digit?).to_digit(16);
    digit(high)
        .zip(digit(low))
        .and_then(|(high, low)| u8::try_from(16 * high + low).ok())
        .ok_or(UrlProblem::Encoding)
}

#[cfg(test)]
#[path = "connect_tests.rs"]
mod tests;
