//! Opens a store, or says why not.

use super::{Store, StoreError};
use sqlx::{
    AnyConnection, AnyPool, Executor, Row,
    any::AnyPoolOptions,
    migrate::{Migrate, Migrator},
};
use std::{
    fs::{self, File, TryLockError},
    io::{Read, Seek, Write},
    path::{Path, PathBuf},
    sync::{Arc, Once},
    time::Duration,
};

static MIGRATIONS: Migrator = sqlx::migrate!("migrations/sqlite");

/// How long a write waits for whoever reads or copies the file.
const BUSY_MS: u64 = 5_000;

/// Who may read at once.
const READERS: u32 = 4;
/// Pages that each connection keeps. SQLite's own 2,000 KiB fill in the course of days, which looks like a leak; what is
/// not here is in the system's cache.
const CACHE_KIB: u32 = 512;

/// Says that a database is the keeper's: "FUSE" in ASCII.
const APPLICATION_ID: i64 = 0x4655_5345;

impl Store {
    /// Opens it for writing, and makes it where there is none.
    ///
    /// # Errors
    /// [`StoreError::Refused`] with the remedy, [`StoreError::Held`] where another keeper has it.
    pub(crate) async fn open(url: &str) -> Result<Self, StoreError> {
        let place = Place::of(url)?;
        let Place::File(path) = place else { return Self::in_memory().await };
        let lock = lock(&path)?;
        let is_fresh = !path.try_exists().map_err(|error| refused(&path, &error.to_string()))?;
        if !is_fresh {
            check_file(&path)?;
        }
        let write =
            pool(&path, "rwc", 1).await.map_err(|error| refused(&path, &error.to_string()))?;
        let store = Self {
            read: pool(&path, "ro", READERS)
                .await
                .map_err(|error| refused(&path, &error.to_string()))?,
            write,
            news: Arc::default(),
            _lock: Some(Arc::new(lock)),
            is_fresh,
            path: Some(path.clone()),
        };
        store.migrate(&path).await?;
        Ok(store)
    }

    /// One that ends with the process.
    ///
    /// # Errors
    /// When SQLite fails.
    pub(crate) async fn in_memory() -> Result<Self, StoreError> {
        install();
        // One connection: each connection would have a database of its own.
        let pool = AnyPoolOptions::new()
            .max_connections(1)
            .idle_timeout(None)
            .max_lifetime(None)
            .connect("sqlite::memory:")
            .await?;
        let store = Self {
            read: pool.clone(),
            write: pool,
            news: Arc::default(),
            _lock: None,
            is_fresh: true,
            path: None,
        };
        MIGRATIONS
            .run(&store.write)
            .await
            .map_err(|error| StoreError::Corrupt(error.to_string()))?;
        Ok(store)
    }

    /// Opens it to look something up, beside the keeper that writes it.
    ///
    /// # Errors
    /// [`StoreError::Refused`] where there is none, or one of another version.
    pub(crate) async fn read_only(url: &str) -> Result<Self, StoreError> {
        let Place::File(path) = Place::of(url)? else {
            return Err(refused(Path::new(url), "it is in the memory of another process"));
        };
        if !path.exists() {
            return Err(refused(&path, "there is none; `keeper run` makes it"));
        }
        check_file(&path)?;
        let read =
            pool(&path, "ro", READERS).await.map_err(|error| refused(&path, &error.to_string()))?;
        let store = Self {
            write: read.clone(),
            read,
            news: Arc::default(),
            _lock: None,
            is_fresh: false,
            path: Some(path.clone()),
        };
        let mut connection = store.read.acquire().await?;
        match newest(&mut connection).await? {
            version if version == known() => Ok(store),
            version if version > known() => Err(newer(&path, version)),
            _ => Err(refused(
                &path,
                "an older keeper made it; start `keeper run` once, which brings it up to date",
            )),
        }
    }

    /// Opens it beside a keeper that runs, for one small change: a mute, a retry.
    ///
    /// # Errors
    /// As [`Store::read_only`].
    pub(crate) async fn beside(url: &str) -> Result<Self, StoreError> {
        let mut store = Self::read_only(url).await?;
        if let Some(path) = &store.path {
            store.write =
                pool(path, "rw", 1).await.map_err(|error| refused(path, &error.to_string()))?;
        }
        Ok(store)
    }

    async fn migrate(&self, path: &Path) -> Result<(), StoreError> {
        let mut connection = self.write.acquire().await?;
        if !self.is_fresh {
            let sound: String = sqlx::query("PRAGMA quick_check(1)")
                .fetch_one(&mut *connection)
                .await
                .map_or_else(|error| error.to_string(), |row| row.try_get(0).unwrap_or_default());
            if sound != "ok" {
                return Err(refused(
                    path,
                    &format!(
                        "it is damaged ({sound}); put a backup in its place, or move it away and the keeper reads the chain anew"
                    ),
                ));
            }
            let id: i64 = sqlx::query("PRAGMA application_id")
                .fetch_one(&mut *connection)
                .await?
                .try_get(0)?;
            if id != APPLICATION_ID {
                return Err(refused(
                    path,
                    "it is the database of another program; give another --store",
                ));
            }
            match newest(&mut connection).await? {
                version if version == known() => return Ok(()),
                version if version > known() => return Err(newer(path, version)),
                version => {
                    // An update that goes wrong must not cost what was told and what was not.
                    let backup = path.with_added_extension(format!("{version}.bak"));
                    if !backup.exists() {
                        sqlx::query("VACUUM INTO $1")
                            .bind(backup.display().to_string())
                            .execute(&mut *connection)
                            .await?;
                    }
                }
            }
        }
        connection
            .execute(sqlx::raw_sql(sqlx::AssertSqlSafe(format!(
                "PRAGMA application_id = {APPLICATION_ID}"
            ))))
            .await?;
        drop(connection);
        MIGRATIONS
            .run(&self.write)
            .await
            .map_err(|error| refused(path, &format!("it cannot be brought up to date: {error}")))
    }
}

/// What a URL names.
enum Place {
    File(PathBuf),
    Memory,
}

impl Place {
    fn of(url: &str) -> Result<Self, StoreError> {
        match url.strip_prefix("sqlite:") {
            Some(":memory:") => Ok(Self::Memory),
            Some(path) if !path.is_empty() => Ok(Self::File(path.trim_start_matches("//").into())),
            // It may hold a password.
            _ => Err(StoreError::Refused {
                place: "it names".to_owned(),
                why: "no SQLite file; write sqlite:keeper.db".to_owned(),
            }),
        }
    }
}

fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(sqlx::any::install_default_drivers);
}

/// Connections to a file, each with the settings it needs: they belong to the connection.
async fn pool(path: &Path, mode: &str, size: u32) -> Result<AnyPool, sqlx::Error> {
    install();
    let encoded = percent_encoding::utf8_percent_encode(
        &path.display().to_string(),
        percent_encoding::NON_ALPHANUMERIC,
    )
    .to_string();
    let is_writer = mode != "ro";
    AnyPoolOptions::new()
        .max_connections(size)
        .idle_timeout(None)
        .max_lifetime(None)
        .acquire_timeout(Duration::from_millis(2 * BUSY_MS))
        .after_connect(move |connection, _| {
            Box::pin(async move {
                let mut settings = format!(
                    "PRAGMA busy_timeout = {BUSY_MS}; PRAGMA foreign_keys = ON; PRAGMA cache_size = -{CACHE_KIB};"
                );
                if is_writer {
                    // FULL: the cursor and what was told up to it are in one file, and neither may be lost alone.
                    settings.push_str("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
                }
                connection.execute(sqlx::raw_sql(sqlx::AssertSqlSafe(settings))).await?;
                Ok(())
            })
        })
        .connect(&format!("sqlite://{encoded}?mode={mode}"))
        .await
}

/// The newest migration that was applied; 0 for none.
async fn newest(connection: &mut AnyConnection) -> Result<i64, StoreError> {
    let applied = connection.list_applied_migrations("_sqlx_migrations").await;
    Ok(applied
        .map(|all| all.iter().map(|one| one.version).max().unwrap_or_default())
        .unwrap_or_default())
}

fn known() -> i64 {
    MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or_default()
}

fn newer(path: &Path, version: i64) -> StoreError {
    refused(
        path,
        &format!(
            "a newer keeper made it (schema {version}, this one knows {}); start that one, or give another --store",
            known()
        ),
    )
}

fn refused(path: &Path, why: &str) -> StoreError {
    StoreError::Refused { place: path.display().to_string(), why: why.to_owned() }
}

/// What can be said before SQLite touches it.
fn check_file(path: &Path) -> Result<(), StoreError> {
    let mut start = [0; 16];
    let mut file = File::open(path).map_err(|error| refused(path, &error.to_string()))?;
    match file.read(&mut start) {
        Ok(0) => Err(refused(
            path,
            "it is empty, so what was in it is lost; put a backup in its place, or remove it and the keeper reads the chain anew",
        )),
        Ok(16) if &start == b"SQLite format 3\0" => Ok(()),
        Ok(_) => Err(refused(path, "it is no SQLite database; give another --store")),
        Err(error) => Err(refused(path, &error.to_string())),
    }
}

/// Takes the file for this process.
fn lock(path: &Path) -> Result<File, StoreError> {
    let name = path.with_added_extension("lock");
    let refuse = |error: std::io::Error| refused(path, &format!("{}: {error}", name.display()));
    let mut file = File::options()
        .create(true)
        .read(true)
        .write(true)
        .truncate(false)
        .open(&name)
        .map_err(refuse)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let holder = fs::read_to_string(&name).unwrap_or_default();
            let holder = match holder.trim() {
                "" => "another keeper".to_owned(),
                pid => format!("the keeper with process id {pid}"),
            };
            return Err(StoreError::Held { path: path.to_owned(), holder });
        }
        Err(TryLockError::Error(error)) => return Err(refuse(error)),
    }
    file.set_len(0)
        .and_then(|()| file.rewind())
        .and_then(|()| write!(file, "{}", std::process::id()))
        .map_err(refuse)?;
    Ok(file)
}
