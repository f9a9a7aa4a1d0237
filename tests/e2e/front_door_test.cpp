// `rind serve --listen` and `rind chat --connect` with the certificates of scripts/dev-certs: who
// is let in, who is not and why, and tokens and certificates that change without a restart (S42).
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/lone_host.hpp"

namespace rind::e2e {
namespace {

using testing::HasSubstr;
using testing::Not;

class front_door_program : public testing::Test {
protected:
  /// Certificates in a folder of that name.
  void make_certificates(const std::string& name, std::vector<std::string> of = {}) {
    kit::program_options o;
    o.arguments = {at_.file(name)};
    o.arguments.insert(o.arguments.end(), of.begin(), of.end());
    o.errors_file = at_.file("certs-errors.txt");
    int code = -1;
    kit::output_of(RIND_DEV_CERTS, o, &code);
    ASSERT_EQ(code, 0) << kit::read_file(o.errors_file);
  }

  kit::serving_host serve(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"--listen",
                                       "127.0.0.1:0",
                                       "--tls-certificate",
                                       at_.file("server.pem"),
                                       "--tls-key",
                                       at_.file("server.key"),
                                       "--set",
                                       "server.token_file=tokens"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    auto host = at_.serve(arguments);
    const auto line = host.child().pipes().next_line().value_or("");
    const auto colon = line.find(':', line.find("127.0.0.1"));
    address_ = "127.0.0.1:" + line.substr(colon + 1, line.find(' ', colon) - colon - 1);
    EXPECT_THAT(line, HasSubstr(" with TLS"));
    return host;
  }

  void take_certificates_of(const std::string& name) {
    for (const auto* file : {"server.pem", "server.key"})
      kit::write_file(at_.file(file), kit::read_file(at_.file(name) + "/" + file));
  }

  lone_host::finished chat(const std::string& token, std::vector<std::string> more) const {
    std::vector<std::string> arguments{"chat", "--connect", address_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    kit::write_file(at_.file("token-of-client"), token);
    arguments.insert(arguments.end(), {"--set", "server.token_file=token-of-client"});
    return at_.run(arguments);
  }
  lone_host::finished chat(const std::string& token) const {
    return chat(token, {"--tls-ca", at_.file("certs/ca.pem")});
  }

  lone_host at_;
  std::string address_;
};

TEST_F(front_door_program, S42_lets_in_whom_it_knows_and_tells_the_others_why) {
  make_certificates("certs");
  make_certificates("foreign");
  take_certificates_of("certs");
  kit::write_file(at_.file("tokens"), "ann a-token-of-ann\nbob b-token-of-bob\n");
  auto host = serve();
  for (const auto* token : {"a-token-of-ann", "b-token-of-bob"}) {
    const auto in = chat(token);
    EXPECT_EQ(in.exit_code, 0) << in.errors;
  }
  struct row {
    const char* what;
    lone_host::finished got;
    const char* words;
  };
  const row rows[]{
      {"wrong token", chat("a-token-of-an"), "Unauthorized"},
      {"an authority that it does not trust",
       chat("a-token-of-ann", {"--tls-ca", at_.file("foreign/ca.pem")}),
       "certificate verify failed"},
      {"the system's authorities", chat("a-token-of-ann", {}), "certificate verify failed"},
      {"no TLS", chat("a-token-of-ann", {"--no-tls"}), "ConnectionClosed"},
      {"a file that is not there", chat("a-token-of-ann", {"--tls-ca", at_.file("none.pem")}),
       "none.pem cannot be used"},
  };
  for (const auto& one : rows) {
    EXPECT_EQ(one.got.exit_code, 1) << one.what;
    EXPECT_THAT(one.got.errors, HasSubstr(one.words)) << one.what;
  }
  host.child().signal(SIGTERM);
  EXPECT_EQ(host.child().wait().exit_code, 0);
  const auto log = at_.errors();
  EXPECT_THAT(log, HasSubstr("event=client_refused"));
  EXPECT_THAT(log, HasSubstr("TLS was not agreed on"));
  for (const auto* secret : {"a-token-of-an", "b-token-of-bob"})
    EXPECT_THAT(log, Not(HasSubstr(secret))); // S41
}

TEST_F(front_door_program, S42_a_server_can_ask_for_certificates_of_its_clients) {
  make_certificates("certs");
  make_certificates("foreign");
  take_certificates_of("certs");
  kit::write_file(at_.file("tokens"), "a-token-of-ann");
  auto host = serve({"--set", "server.tls_client_ca_file=" + at_.file("certs/ca.pem")});
  const auto with = [&](const std::string& folder) {
    return chat("a-token-of-ann",
                {"--tls-ca", at_.file("certs/ca.pem"), "--tls-certificate",
                 at_.file(folder + "/client.pem"), "--tls-key", at_.file(folder + "/client.key")});
  };
  EXPECT_EQ(with("certs").exit_code, 0);
  EXPECT_EQ(with("foreign").exit_code, 1);
  EXPECT_EQ(chat("a-token-of-ann").exit_code, 1);
}

TEST_F(front_door_program,
       S42_sighup_reads_tokens_and_certificate_anew_and_a_fault_changes_nothing) {
  make_certificates("certs");
  make_certificates("next");
  take_certificates_of("certs");
  kit::write_file(at_.file("tokens"), "a-token-of-ann");
  auto host = serve();
  EXPECT_EQ(chat("a-token-of-ann").exit_code, 0);
  kit::write_file(at_.file("tokens"), "");
  host.child().signal(SIGHUP);
  EXPECT_EQ(chat("a-token-of-ann").exit_code, 0);
  kit::write_file(at_.file("tokens"), "b-token-of-bob");
  take_certificates_of("next");
  host.child().signal(SIGHUP);
  const std::vector<std::string> trust_next{"--tls-ca", at_.file("next/ca.pem")};
  constexpr int tries_max = 200; // the signal is on its way
  int code = 1;
  for (int i = 0; i < tries_max && code != 0; ++i)
    code = chat("b-token-of-bob", trust_next).exit_code;
  EXPECT_EQ(code, 0);
  EXPECT_THAT(chat("a-token-of-ann", trust_next).errors, HasSubstr("Unauthorized"));
  EXPECT_THAT(chat("b-token-of-bob").errors, HasSubstr("certificate verify failed"));
  EXPECT_THAT(at_.errors(), HasSubstr("event=access_not_renewed"));
}

TEST_F(front_door_program, S42_does_not_start_where_others_could_read_or_enter) {
  const auto no_token = at_.run({"serve", "--listen", "127.0.0.1:0", "--journal", "memory"});
  EXPECT_EQ(no_token.exit_code, 1);
  EXPECT_THAT(no_token.errors, HasSubstr("who comes over TCP needs a token"));
  kit::write_file(at_.file("tokens"), "a-token-of-ann");
  const auto no_tls = at_.run({"serve", "--listen", "0.0.0.0:0", "--journal", "memory", "--set",
                               "server.token_file=tokens"});
  EXPECT_EQ(no_tls.exit_code, 1);
  EXPECT_THAT(no_tls.errors, HasSubstr("so it needs TLS"));
  const auto in_the_clear = at_.run({"chat", "--connect", "192.0.2.1:1", "--no-tls"});
  EXPECT_EQ(in_the_clear.exit_code, 1);
  EXPECT_THAT(in_the_clear.errors, HasSubstr("unencrypted"));
}

} // namespace
} // namespace rind::e2e
