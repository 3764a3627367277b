//! The monitor: what clients and scripts ask of a server, in order, for exact counts.

use crate::resp::Connection;
use crate::server::RedisServer;

/// Words that every command about a key of ours has in one of its arguments.
const ROLES: [&str; 3] = [":lock:{", ":state:{", ":notify:{"];

/// Watches a server. Nothing is lost: what has not been taken yet waits in the connection.
#[derive(Debug)]
pub struct Monitor {
    watch: Connection,
    /// `MONITOR` leaves its connection to nothing else: the end of a phase is marked by way of this one.
    marker: Connection,
    phases: u32,
}

/// A command that names a key of ours, so that probes, connection set-up and the test's own are left out.
#[derive(Clone, Debug)]
pub struct Command {
    /// Its name and arguments.
    pub words: Vec<String>,
    /// Whether a script ran it. Otherwise somebody waited for a reply over the network.
    pub in_script: bool,
}

/// What was asked in one phase of a test.
#[derive(Clone, Debug, Default)]
pub struct Traffic(pub Vec<Command>);

impl Monitor {
    /// Watches from now on.
    pub fn start(server: &RedisServer) -> Self {
        let mut watch = server.connection();
        watch.command(&["MONITOR"]).expect("a server to watch");
        Self {
            watch,
            marker: server.connection(),
            phases: 0,
        }
    }

    /// What has been asked since the start, or since this was called last.
    pub fn take(&mut self) -> Traffic {
        self.phases += 1;
        let end = format!("end of phase {}", self.phases);
        self.marker.command(&["ECHO", &end]).expect("an echo");
        let mut commands = Vec::new();
        loop {
            let line = self.watch.read().expect("a line of the monitor").text();
            let Some(command) = Command::parse(&line) else {
                continue;
            };
            if command.words.last() == Some(&end) {
                return Traffic(commands);
            }
            if command.names_a_key() {
                commands.push(command);
            }
        }
    }
}

impl Command {
    /// Reads a line such as `1700000000.123456 [0 127.0.0.1:40000] "GET" "…:state:{…}"`.
    fn parse(line: &str) -> Option<Self> {
        let (source, command) = line.split_once("] \"")?;
        let words = command.trim_end_matches('"').split("\" \"");
        Some(Self {
            words: words.map(str::to_owned).collect(),
            in_script: source.ends_with(" lua"),
        })
    }

    fn names_a_key(&self) -> bool {
        let named = |word: &String| ROLES.iter().any(|role| word.contains(role));
        self.words.iter().any(named)
    }

    fn is(&self, name: &str) -> bool {
        self.words[0].eq_ignore_ascii_case(name)
    }
}

impl Traffic {
    /// How often clients sent the command `name`.
    pub fn sent(&self, name: &str) -> usize {
        let sent = |command: &&Command| !command.in_script && command.is(name);
        self.0.iter().filter(sent).count()
    }

    /// How many commands clients sent.
    pub fn all_sent(&self) -> usize {
        self.0.iter().filter(|command| !command.in_script).count()
    }

    /// How often a state was written, by whomever.
    pub fn state_writes(&self) -> usize {
        let writes =
            |command: &&Command| command.is("SET") && command.words[1].contains(":state:{");
        self.0.iter().filter(writes).count()
    }
}
