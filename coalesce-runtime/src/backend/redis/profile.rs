//! The client's settings that survive faults, for each topology. Each was chosen by a measured failure.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use fred::clients::Client;
use fred::types::RespVersion;
use fred::types::config::{
    Config, ConnectionConfig, PerformanceConfig, ReconnectError, ReconnectPolicy, Server,
    ServerConfig, TcpConfig, UnresponsiveConfig,
};

use super::connect::{Address, Topology, UrlProblem};
use super::slots::Place;
use crate::format::envelope::Envelope;
use crate::format::traceparent::Traceparent;
use crate::words::policy::Policy;

/// A longer deadline is meant as "for ever", which no clock can express.
const LONGEST_DEADLINE: Duration = Duration::from_hours(1);

/// How long a server may take to be connected to, and then to let us in.
const CONNECTING: Duration = Duration::from_millis(500);

/// Everything needed to make a client, any number of times. It knows the password, so it has no `Debug`.
#[derive(Clone)]
pub(super) struct Profile {
    config: Config,
    connection: ConnectionConfig,
    tls: bool,
    deadline: Duration,
    /// The longest payload that any call site of the process takes, as far as is known. All lines share it.
    payload: Arc<AtomicUsize>,
}

/// Payloads of so many bytes are taken whatever the call sites of this process say: those of another deployment may store
/// more.
const TAKEN: usize = 16 * Policy::DEFAULT_MAX_PAYLOAD;

impl Profile {
    pub(super) fn new(address: Address, deadline: Duration) -> Result<Self, UrlProblem> {
        // A deadline of 0 would mean none to the client.
        let deadline = deadline.clamp(Duration::from_millis(1), LONGEST_DEADLINE);
        Ok(Self {
            connection: connection(&address.topology),
            tls: address.tls,
            config: config(address)?,
            deadline,
            payload: Arc::new(TAKEN.into()),
        })
    }

    /// The same for one node of a cluster. Each is a server of its own to the client: the client's way with a
    /// cluster serves no slot while one node cannot be reached.
    pub(super) fn at(&self, place: &Place) -> Self {
        let mut profile = self.clone();
        profile.config.server = ServerConfig::Centralized {
            server: Server::new(&place.host, place.port),
        };
        profile
    }

    /// A client that has not connected yet, with room for this many events and messages.
    pub(super) fn client(&self, room: usize) -> Client {
        let performance = PerformanceConfig {
            // For commands that come without options; ours never do, the client's own might.
            default_command_timeout: self.deadline,
            broadcast_channel_capacity: room,
            ..PerformanceConfig::default()
        };
        Client::new(
            self.config.clone(),
            Some(performance),
            Some(self.connection.clone()),
            Some(reconnects()),
        )
    }

    /// Whether a server has to show a certificate with the name that it was connected to by.
    pub(super) fn is_secured(&self) -> bool {
        self.tls
    }

    /// How long one question may take.
    pub(super) fn deadline(&self) -> Duration {
        self.deadline
    }

    /// Payloads of so many bytes are taken from now on.
    pub(super) fn take(&self, payload: usize) {
        // Nearly always it is there: a call costs a look and no write.
        if self.payload.load(Ordering::Relaxed) < payload {
            let payload = payload.min(Policy::MAX_PAYLOAD);
            self.payload.fetch_max(payload, Ordering::Relaxed);
        }
    }

    /// The place of the last byte of a state that is taken, as GETRANGE counts. Whatever is longer is cut there, and
    /// that is a miss: it must not fill this process's memory, nor keep its connections from others.
    pub(super) fn last_byte(&self) -> Bytes {
        let payload = self.payload.load(Ordering::Relaxed);
        let longest = Envelope::HEADER_LEN + Traceparent::LEN + payload;
        (longest - 1).to_string().into()
    }
}

fn config(address: Address) -> Result<Config, UrlProblem> {
    let tls = address.tls;
    let config = Config {
        // A first connection that fails ends the client, and the keeper makes the next one.
        fail_fast: true,
        // A client of the older protocol cannot connect while the server's persistence is broken.
        version: RespVersion::RESP3,
        server: server(address.topology, address.nodes),
        username: address.user.map(one_word),
        password: address.password.map(one_word),
        database: address.database,
        ..Config::default()
    };
    if tls { secured(config) } else { Ok(config) }
}

/// A user or a password as one word of a line.
///
/// The client signs in with a line of plain words, `HELLO 3 AUTH user password`: a password with a
/// space was refused, and one with a line break would go on as a command. Between double quotes the
/// server reads any byte.
pub(super) fn one_word(text: String) -> String {
    let stands_alone = |byte: u8| !byte.is_ascii() || byte.is_ascii_graphic();
    if text.bytes().all(stands_alone) && !text.contains(['"', '\'']) {
        return text;
    }
    let mut word = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => word.extend(['\\', character]),
            ' '..='~' | '\u{80}'.. => word.push(character),
            // Writing to a string cannot fail.
            control => drop(write!(word, "\\x{:02x}", u32::from(control))),
        }
    }
    word.push('"');
    word
}

#[cfg(feature = "tls")]
fn secured(mut config: Config) -> Result<Config, UrlProblem> {
    let connector = fred::types::config::TlsConnector::default_rustls()
        .map_err(|_| UrlProblem::RootCertificates)?;
    config.tls = Some(connector.into());
    Ok(config)
}

#[cfg(not(feature = "tls"))]
fn secured(_: Config) -> Result<Config, UrlProblem> {
    Err(UrlProblem::TlsNotBuilt)
}

fn server(topology: Topology, nodes: Vec<(String, u16)>) -> ServerConfig {
    let mut hosts: Vec<_> = nodes
        .into_iter()
        .map(|(host, port)| Server::new(host, port))
        .collect();
    match topology {
        Topology::Single | Topology::Cluster => ServerConfig::Centralized {
            server: hosts.swap_remove(0),
        },
        Topology::Sentinel {
            service,
            user,
            password,
        } => ServerConfig::Sentinel {
            hosts,
            service_name: service,
            username: user,
            password,
        },
    }
}

/// Within one client. Its first delay is short because most cuts are, and no delay is long: it is all
/// outage once the server is back.
fn reconnects() -> ReconnectPolicy {
    let mut policy = ReconnectPolicy::new_exponential(0, 50, 250, 2);
    policy.set_jitter(50);
    policy
}

fn connection(topology: &Topology) -> ConnectionConfig {
    ConnectionConfig {
        // Whoever hangs while it is connected to is tried again soon, or another in its place.
        connection_timeout: CONNECTING,
        internal_command_timeout: CONNECTING,
        max_command_attempts: 1,
        max_command_buffer_len: 10_000,
        // A second net: under steady load it finds nothing, so the probe is the first.
        unresponsive: UnresponsiveConfig {
            max_timeout: Some(Duration::from_secs(2)),
            interval: Duration::from_millis(500),
        },
        // Without TCP_USER_TIMEOUT. Below two seconds it would end connections of links that are merely bad; and before
        // that the probe has given up any that swallows bytes, on every system, and also one whose bytes a server that
        // hangs goes on to acknowledge. The client's feature for it does not build without one more crate.
        tcp: TcpConfig {
            nodelay: Some(true),
            ..TcpConfig::default()
        },
        reconnect_errors: reconnect_errors(topology),
        ..ConnectionConfig::default()
    }
}

/// Answers that mean "you are talking to the wrong server". At a plain address there is no other
/// server, and closing the connection would only delay everybody who shares it; a cluster's nodes are
/// chosen by slot. Behind CLUSTERDOWN the client closes it whatever is said here.
fn reconnect_errors(topology: &Topology) -> Vec<ReconnectError> {
    match topology {
        Topology::Single | Topology::Cluster => Vec::new(),
        Topology::Sentinel { .. } => vec![
            ReconnectError::ClusterDown,
            ReconnectError::Loading,
            ReconnectError::ReadOnly,
            ReconnectError::NoReplicas,
            ReconnectError::MasterDown,
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(url: &str) -> Result<Profile, UrlProblem> {
        Profile::new(Address::parse(url)?, Duration::from_millis(250))
    }

    #[test]
    fn a_deadline_is_never_none_and_never_beyond_what_a_clock_can_say() {
        let deadline = |asked| {
            let address = Address::parse("redis://h").unwrap();
            Profile::new(address, asked).map(|it| it.deadline())
        };
        assert!(deadline(Duration::ZERO).is_ok_and(|it| it > Duration::ZERO));
        assert_eq!(deadline(Duration::MAX), Ok(Duration::from_hours(1)));
    }

    #[test]
    fn a_node_is_a_server_of_its_own_to_which_all_that_the_url_says_applies() {
        let of_cluster = profile("redis-cluster://app:pw@seed:7000?node=other:7001").unwrap();
        let config = of_cluster.at(&Place::new("node", 7_002)).config;
        let server = ServerConfig::Centralized {
            server: Server::new("node", 7_002),
        };
        assert!(config.server == server);
        let user = (config.username.as_deref(), config.password.as_deref());
        assert_eq!(user, (Some("app"), Some("pw")));
        assert_eq!(config.version, RespVersion::RESP3);
    }

    #[test]
    fn a_password_is_one_word_whatever_is_in_it() {
        let word = |text: &str| one_word(text.to_owned());
        for plain in ["hunter2", "p@ss:w/rd%", "geheimß", "back\\slash"] {
            assert_eq!(word(plain), plain);
        }
        assert_eq!(word("two words"), r#""two words""#);
        assert_eq!(word(r#"it's "\""#), r#""it's \"\\\"""#);
        assert_eq!(word("a\r\nFLUSHALL\0"), r#""a\x0d\x0aFLUSHALL\x00""#);
    }

    #[cfg(not(feature = "tls"))]
    #[test]
    fn tls_that_is_not_built_is_refused_and_the_feature_named() {
        for url in ["rediss://h", "rediss-cluster://h"] {
            let problem = profile(url).map(|_| ()).unwrap_err();
            assert_eq!(problem, UrlProblem::TlsNotBuilt);
            assert!(problem.to_string().contains("`tls`"));
        }
    }

    #[cfg(feature = "tls")]
    #[test]
    fn tls_that_is_built_is_used() {
        assert!(profile("rediss://h").is_ok_and(|it| it.config.tls.is_some()));
        assert!(profile("redis://h").is_ok_and(|it| it.config.tls.is_none()));
        let cluster = profile("rediss-cluster://h").unwrap();
        assert!(cluster.at(&Place::new("node", 1)).config.tls.is_some());
    }
}
