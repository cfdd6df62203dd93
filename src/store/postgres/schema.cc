// SPDX-License-Identifier: Apache-2.0
#include "store/postgres/schema.h"

namespace allot::postgres {
namespace {

constexpr Migration kMigrations[] = {
#include "postgres_migrations.inc"
};

constexpr int kLowestServer = 14'00'00;
// So that two programs do not migrate at once. It holds for a transaction only, and nothing else relies on it.
constexpr char kMigrationLock[] = "SELECT pg_advisory_xact_lock(4712318201)";

struct Versions {
  bool made = false;
  std::int64_t version = 0, compatible = 0, feature_level = 0;
};

Result<Versions> ReadVersions(Connection& db, const std::string& schema) {
  Versions versions;
  const std::string table = Connection::Name(schema) + ".cluster";
  Result<Rows> there = db.Run("SELECT to_regclass($1::text) IS NOT NULL", Params(table));
  if (!there) return there.error();
  if (there->Int(0, 0) == 0) return versions;
  const std::string text = "SELECT version, compatible, feature_level FROM " + table;
  Result<Rows> rows = db.Run(text.c_str());
  if (!rows) return rows.error();
  if (rows->empty()) return Error{Code::kStoreCorrupt, "the table " + table + " is empty", "restore the database"};
  versions = {true, rows->Int(0, 0), rows->Int(0, 1), rows->Int(0, 2)};
  return versions;
}

struct Who {
  std::string user, database;
};

Result<Who> WhoAmI(Connection& db) {
  Result<Rows> rows = db.Run("SELECT current_user::text, current_database()::text");
  if (!rows) return rows.error();
  return Who{std::string(rows->Bytes(0, 0)), std::string(rows->Bytes(0, 1))};
}

bool IsRefusal(const Error& error) { return error.message.ends_with("(42501)"); }

Error NoRights(const Who& who, const std::string& schema, const Error& error, bool there) {
  const std::string user = Connection::Name(who.user);
  return {Code::kStoreFailed,
          "the database " + who.database + " does not let the user " + who.user + " use the schema " + schema + ": " +
              error.message,
          there ? "as its owner: GRANT USAGE, CREATE ON SCHEMA " + schema + " TO " + user +
                      "; GRANT ALL ON ALL TABLES IN SCHEMA " + schema + " TO " + user
                : "as an administrator: CREATE SCHEMA " + schema + " AUTHORIZATION " + user};
}

Result<void> CheckVersions(const Versions& versions, std::size_t known, const std::string& schema) {
  if (versions.compatible <= static_cast<std::int64_t>(known) && versions.feature_level <= kFeatureLevel) return {};
  const bool old_tables = versions.compatible > static_cast<std::int64_t>(known);
  return Error{Code::kStoreNewer,
               "the tables of the schema " + schema + " are of a newer program: " +
                   (old_tables ? "they want one that knows " + std::to_string(versions.compatible) +
                                     " migrations, this one knows " + std::to_string(known)
                               : "their feature level is " + std::to_string(versions.feature_level) +
                                     ", this program's is " + std::to_string(kFeatureLevel)),
               "run the newer program"};
}

Result<void> CheckRights(Connection& db, const std::string& schema, const Who& who) {
  Result<Rows> rows = db.Run(
      "SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1::text "
      "AND c.relkind = 'r' AND NOT (has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT') AND "
      "has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE')) ORDER BY 1 LIMIT 1",
      Params(schema));
  if (!rows) return rows.error();
  if (rows->empty()) return {};
  const Error error{Code::kStoreFailed, "it lacks rights on the table " + std::string(rows->Bytes(0, 0)), ""};
  return NoRights(who, schema, error, true);
}

}  // namespace

std::span<const Migration> Migrations() { return kMigrations; }

Result<void> CheckServer(Connection& db, const ServerChecks& checks) {
  if (db.server_version() < kLowestServer) {
    return Error{Code::kStoreFailed,
                 "PostgreSQL " + std::to_string(db.server_version() / 10'000) + " is too old: it must be 14 or newer",
                 "upgrade the database"};
  }
  Result<Rows> rows = db.Run(
      "SELECT pg_backend_pid(), current_setting('fsync'), current_setting('full_page_writes'), "
      "current_setting('synchronous_standby_names')");
  if (!rows) return rows.error();
  if (rows->Int(0, 0) != db.pid()) {
    return Error{Code::kStoreFailed, "between this server and the database is a pooler",
                 "connect to PostgreSQL directly: a queue's owner must be told from others by its connection"};
  }
  if (rows->Bytes(0, 1) != "on") {
    return Error{Code::kStoreFailed, "the database does not wait for its disk: fsync is off",
                 "set fsync = on in postgresql.conf: otherwise a loss of power loses what was promised"};
  }
  if (rows->Bytes(0, 2) != "on" && checks.warn) {
    checks.warn(
        "full_page_writes is off: unless its file system writes whole pages, a loss of power damages the "
        "database");
  }
  if (!rows->Bytes(0, 3).empty()) return {};
  if (!checks.allow_no_standby) {
    return Error{Code::kStoreFailed, "the database has no synchronous standby: when it is lost, so are the queues",
                 "set synchronous_standby_names there, or say that one copy is enough: --allow-no-standby true"};
  }
  if (checks.warn) {
    checks.warn("the database has no synchronous standby: a failover to an asynchronous one loses what was promised");
  }
  return {};
}

Result<void> Migrate(Connection& db, const std::string& schema, std::span<const Migration> migrations) {
  const Result<Who> who = WhoAmI(db);
  if (!who) return who.error();
  Result<Rows> there = db.Run("SELECT 1 FROM pg_namespace WHERE nspname = $1::text", Params(schema));
  if (!there) return there.error();
  const bool made = !there->empty();
  const auto explained = [&](const Error& error) {
    return IsRefusal(error) ? NoRights(*who, schema, error, made) : error;
  };
  Result<Versions> versions = ReadVersions(db, schema);
  if (!versions) return explained(versions.error());
  if (versions->made) {
    if (Result<void> fit = CheckVersions(*versions, migrations.size(), schema); !fit) return fit;
  }
  if (!versions->made || versions->version < static_cast<std::int64_t>(migrations.size())) {
    const std::string path = "SET LOCAL search_path = " + Connection::Name(schema) + ", pg_catalog;";
    if (Result<void> begun = db.Script("BEGIN;"); !begun) return begun;
    const auto change = [&]() -> Result<void> {
      if (Result<void> done = db.Script(kMigrationLock); !done) return done;
      if (!made) {
        if (Result<void> done = db.Script("CREATE SCHEMA IF NOT EXISTS " + Connection::Name(schema)); !done)
          return done;
      }
      // Another one may have been faster.
      Result<Versions> now = ReadVersions(db, schema);
      if (!now) return now.error();
      if (now->made) {
        if (Result<void> fit = CheckVersions(*now, migrations.size(), schema); !fit) return fit;
      }
      for (std::size_t i = static_cast<std::size_t>(now->version); i < migrations.size(); ++i) {
        const std::string number = std::to_string(i + 1);
        const Result<void> done = db.Script(path + migrations[i].text + ";UPDATE cluster SET version = " + number);
        if (done) continue;
        Error error = done.error();
        if (error.message.ends_with("(42P07)") || error.message.ends_with("(42723)")) {
          return Error{Code::kStoreForeign,
                       "the schema " + schema + " has tables that are not Allotter's: " + error.message,
                       "move them away, or use another database"};
        }
        if (!IsRefusal(error)) error.message = std::string("migration ") + migrations[i].name + ": " + error.message;
        return error;
      }
      return db.Script("COMMIT");
    };
    if (Result<void> done = change(); !done) {
      static_cast<void>(db.Script("ROLLBACK"));
      return explained(done.error());
    }
  }
  return CheckRights(db, schema, *who);
}

}  // namespace allot::postgres
