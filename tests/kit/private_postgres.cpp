// initdb, postgres, and the user that they run as.
#include "tests/kit/private_postgres.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <libpq-fe.h>
#include <pwd.h>
#include <unistd.h>

#include "tests/kit/running_host.hpp"

namespace rind::kit {

namespace {

constexpr const char* superuser = "rind";
constexpr int log_lines_max = 200; // until it is ready

/// Where Debian puts the server's programs; the newest version.
std::string binary_folder() {
  std::vector<std::string> found;
  std::error_code none;
  for (const auto& version : std::filesystem::directory_iterator("/usr/lib/postgresql", none))
    if (std::filesystem::exists(version.path() / "bin" / "postgres"))
      found.push_back((version.path() / "bin").string());
  if (found.empty())
    throw std::runtime_error(
        "no PostgreSQL server below /usr/lib/postgresql: scripts/install-deps test installs it");
  return *std::max_element(found.begin(), found.end());
}

/// PostgreSQL does not run as root.
const passwd* server_user() {
  if (::geteuid() != 0)
    return nullptr;
  for (const char* name : {"postgres", "nobody"})
    if (const auto* found = ::getpwnam(name))
      return found;
  throw std::runtime_error("no user to run PostgreSQL as");
}

void give_to_server_user(const std::string& path) {
  if (const auto* user = server_user();
      user != nullptr && ::chown(path.c_str(), user->pw_uid, user->pw_gid) != 0)
    throw std::runtime_error("cannot give " + path + " to the server's user");
}

using connection = std::unique_ptr<PGconn, decltype(&PQfinish)>;

std::string run_sql(const std::string& address, const std::string& sql) {
  const connection db(PQconnectdb(address.c_str()), &PQfinish);
  const std::unique_ptr<PGresult, decltype(&PQclear)> answer(PQexec(db.get(), sql.c_str()),
                                                             &PQclear);
  const auto status = PQresultStatus(answer.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
    throw std::runtime_error(sql + ": " + PQerrorMessage(db.get()));
  return PQntuples(answer.get()) > 0 ? PQgetvalue(answer.get(), 0, 0) : "";
}

} // namespace

program_options private_postgres::as_server_user(const std::string& binary,
                                                 std::vector<std::string> arguments) const {
  // The server ends with the test, however that ends; its log goes where its readiness is read.
  std::string command = "exec setpriv --pdeathsig SIGQUIT";
  if (const auto* user = server_user())
    command += " --reuid " + std::to_string(user->pw_uid) + " --regid " +
               std::to_string(user->pw_gid) + " --clear-groups";
  command += " \"$0\" \"$@\" 2>&1";
  arguments.insert(arguments.begin(), {"-c", command, binary_folder() + "/" + binary});
  program_options o;
  o.arguments = std::move(arguments);
  o.folder = "/";
  return o;
}

private_postgres::private_postgres() {
  give_to_server_user(file(""));
  const auto data = file("data");
  int code = -1;
  const auto said = output_of("/bin/sh",
                              as_server_user("initdb", {"-D", data, "-U", superuser, "-A", "trust",
                                                        "-E", "UTF8", "--locale", "C", "-N"}),
                              &code);
  if (code != 0)
    throw std::runtime_error("initdb: " + said);
  write_file(data + "/pg_hba.conf", "local all locked scram-sha-256\nlocal all all trust\n");
  give_to_server_user(data + "/pg_hba.conf");
  start();
  execute("postgres", std::string("CREATE ROLE locked LOGIN PASSWORD '") + password + "'");
}

private_postgres::~private_postgres() {
  end(SIGQUIT);
}

void private_postgres::start() {
  // Errors of statements are not logged: nobody reads the pipe once the server is ready.
  server_ = std::make_unique<program>(
      "/bin/sh", as_server_user("postgres", {"-D", file("data"), "-k", file(""), "-c",
                                             "listen_addresses=", "-c", "fsync=off", "-c",
                                             "log_min_messages=log", "-c", "max_connections=50",
                                             "-c", "shared_buffers=16MB"}));
  std::string said;
  for (int i = 0; i < log_lines_max; ++i) {
    const auto line = server_->pipes().next_line();
    if (!line)
      break;
    if (line->find("database system is ready to accept connections") != std::string::npos)
      return;
    said += *line + "\n";
  }
  server_.reset();
  throw std::runtime_error("PostgreSQL did not start: " + said);
}

void private_postgres::end(int signal) {
  if (!server_)
    return;
  server_->signal(signal);
  server_->wait();
  server_.reset();
}

void private_postgres::stop() {
  end(SIGINT);
}

void private_postgres::crash() {
  end(SIGQUIT);
}

std::string private_postgres::address(const std::string& database, const std::string& user) const {
  auto folder = file("");
  while (folder.size() > 1 && folder.back() == '/')
    folder.pop_back();
  return "postgresql:///" + database + "?host=" + folder +
         "&user=" + (user.empty() ? std::string(superuser) : user);
}

std::string private_postgres::socket_path() const {
  return file(".s.PGSQL.5432");
}

std::string private_postgres::create_database(const std::string& name) {
  execute("postgres", "CREATE DATABASE \"" + name + "\"");
  return address(name);
}

void private_postgres::execute(const std::string& database, const std::string& sql) {
  run_sql(address(database), sql);
}

std::string private_postgres::value_of(const std::string& database, const std::string& sql) {
  return run_sql(address(database), sql);
}

private_postgres& shared_postgres() {
  static private_postgres server;
  return server;
}

std::string fresh_database() {
  static int made = 0;
  return shared_postgres().create_database("fresh_" + std::to_string(++made));
}

} // namespace rind::kit
