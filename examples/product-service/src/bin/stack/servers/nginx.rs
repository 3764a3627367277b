//! A private nginx with the configuration that Docker uses, too.

use std::path::Path;

use anyhow::Result;

use crate::files;
use crate::process::{Process, Program, free_port, need};

pub struct Nginx {
    process: Process,
    port: u16,
}

impl Nginx {
    pub async fn start(
        root: &Path,
        logs: &Path,
        replicas: &[u16],
        http: &reqwest::Client,
    ) -> Result<Self> {
        let folder = root.join("nginx");
        std::fs::create_dir(&folder)?;
        let port = free_port()?;
        let mut names = vec![
            ("NGINX_RUN".to_owned(), folder.display().to_string()),
            ("NGINX_LISTEN".to_owned(), format!("127.0.0.1:{port}")),
        ];
        let addresses = replicas.iter().map(|port| format!("127.0.0.1:{port}"));
        names.extend(
            (1..)
                .zip(addresses)
                .map(|(n, there)| (format!("REPLICA_{n}"), there)),
        );
        let file = folder.join("nginx.conf");
        std::fs::write(&file, files::filled_in(files::NGINX, &names)?)?;

        let mut process = Program::new("nginx", need("nginx")?)
            // Without `-e` it begins with a look at the log file of the system's own nginx.
            .arguments(["-e", "stderr", "-g", "daemon off;", "-c"])
            .arguments([file.display().to_string()])
            .start(logs)?;
        let there = format!("http://127.0.0.1:{port}/healthz");
        process.answers_at(http, &there).await?;
        Ok(Self { process, port })
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub const fn process(&mut self) -> &mut Process {
        &mut self.process
    }
}
