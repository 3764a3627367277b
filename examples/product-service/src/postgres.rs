//! Products in PostgreSQL. Every question ends within its deadline.

use std::time::Duration;

use async_trait::async_trait;
use sqlx::PgPool;
use sqlx::migrate::Migrator;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

use crate::catalog::{DatabaseDown, Repository};
use crate::product::{Changes, Product};

static MIGRATIONS: Migrator = sqlx::migrate!();

/// How long a question may take, the wait for a connection included. Clients are promised a 503 within 2 s.
const DEADLINE: Duration = Duration::from_millis(1500);

/// The reads are coalesced, so a few connections carry many callers.
const CONNECTIONS: u32 = 10;

/// The table of products.
#[derive(Clone, Debug)]
pub struct Postgres(PgPool);

impl Postgres {
    /// Connects, and brings the tables up to date. Replicas that start together wait for the one that does, and for
    /// `patience` all of them wait for a server at whose port nobody listens yet, or that is still starting.
    ///
    /// # Errors
    ///
    /// When there is no database at this URL by then, or its tables are newer than this program.
    pub async fn connect(url: &str, patience: Duration) -> Result<Self, sqlx::Error> {
        let options: PgConnectOptions = url.parse()?;
        // A connection without the limit below: a migration may take its time. A pool, because that tries again.
        let migrating = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(patience)
            .connect_with(options.clone())
            .await?;
        MIGRATIONS.run(&migrating).await?;
        migrating.close().await;
        // Who was told 503 has not taken the question back, so the server ends it as well.
        let limit = format!("{}ms", DEADLINE.as_millis());
        let pool = PgPoolOptions::new()
            .max_connections(CONNECTIONS)
            .acquire_timeout(DEADLINE)
            .connect_with(options.options([("statement_timeout", limit)]));
        Ok(Self(pool.await?))
    }

    /// Closes the connections.
    pub async fn close(&self) {
        self.0.close().await;
    }
}

#[async_trait]
impl Repository for Postgres {
    async fn find(&self, id: i64) -> Result<Option<Product>, DatabaseDown> {
        let row = sqlx::query_as(
            "SELECT id, name, description, price, stocks, available FROM products WHERE id = $1",
        );
        within_deadline(row.bind(id).fetch_optional(&self.0)).await
    }

    async fn answers(&self) -> bool {
        let asked = within_deadline(sqlx::query("SELECT 1").execute(&self.0));
        asked.await.is_ok()
    }

    async fn update(&self, id: i64, changes: Changes) -> Result<Option<Product>, DatabaseDown> {
        let row = sqlx::query_as(
            "UPDATE products SET name = $2, description = $3, price = $4, stocks = $5, available = $6 \
             WHERE id = $1 RETURNING id, name, description, price, stocks, available",
        );
        let row = row
            .bind(id)
            .bind(changes.name)
            .bind(changes.description)
            .bind(changes.price)
            .bind(changes.stocks)
            .bind(changes.available);
        within_deadline(row.fetch_optional(&self.0)).await
    }
}

async fn within_deadline<T>(
    asked: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, DatabaseDown> {
    let reason = match tokio::time::timeout(DEADLINE, asked).await {
        Ok(Ok(answer)) => return Ok(answer),
        Ok(Err(error)) => reason(&error),
        Err(_) => "no answer in time".to_owned(),
    };
    tracing::warn!(reason, "the database gave no answer");
    Err(DatabaseDown)
}

/// Of what the server said only the code: its message can hold what was written.
fn reason(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(said) => {
            format!("SQLSTATE {}", said.code().unwrap_or_default())
        }
        error => error.to_string(),
    }
}
