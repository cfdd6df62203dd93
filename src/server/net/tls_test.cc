// SPDX-License-Identifier: Apache-2.0
// The same server behind TLS, with a certificate made on the spot.
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <boost/beast/websocket.hpp>

#include "server/testing.h"

namespace allot::testing {
namespace {

// Writes a self-signed certificate and its key.
void MakeCertificate(const std::string& cert_file, const std::string& key_file) {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  ASSERT_NE(key, nullptr);
  X509* cert = X509_new();
  ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
  X509_gmtime_adj(X509_getm_notBefore(cert), 0);
  X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
  X509_set_pubkey(cert, key);
  X509_NAME* name = X509_get_subject_name(cert);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
  X509_set_issuer_name(cert, name);
  ASSERT_GT(X509_sign(cert, key, EVP_sha256()), 0);
  FILE* file = std::fopen(cert_file.c_str(), "w");
  PEM_write_X509(file, cert);
  std::fclose(file);
  file = std::fopen(key_file.c_str(), "w");
  PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
  std::fclose(file);
  X509_free(cert);
  EVP_PKEY_free(key);
}

class TlsTest : public ServerTest {
  void SetUp() override {
    config_.tls_cert = data_ + "/cert.pem";
    config_.tls_key = data_ + "/key.pem";
    MakeCertificate(config_.tls_cert, config_.tls_key);
    Start();
  }
};

TEST_F(TlsTest, RequestsAndWebSocketsWorkAsWithoutIt) {
  asio::io_context io;
  asio::ssl::context context(asio::ssl::context::tls_client);
  context.load_verify_file(config_.tls_cert);
  using Tls = asio::ssl::stream<tcp::socket>;
  const auto connect = [&](Tls& stream) {
    stream.next_layer().connect({asio::ip::make_address("127.0.0.1"), port()});
    stream.set_verify_mode(asio::ssl::verify_peer);
    stream.handshake(asio::ssl::stream_base::client);
  };
  Tls stream(io, context);
  connect(stream);
  beast::flat_buffer buffer;
  for (int i = 0; i < 3; ++i) {
    http::request<http::string_body> request{http::verb::post, kJobs, 11};
    request.set(http::field::host, "localhost");
    request.set(http::field::content_type, "application/json");
    request.body() = R"({"tag":"t","payload":")" + std::string(100'000, 'x') + "\"}";
    request.prepare_payload();
    http::write(stream, request);
    http::response<http::string_body> response;
    http::read(stream, buffer, response);
    ASSERT_EQ(response.result_int(), 201u) << response.body();
  }
  beast::websocket::stream<Tls> worker(io, context);
  connect(worker.next_layer());
  worker.handshake("localhost", "/v1/queues/default/work");
  worker.write(asio::buffer(std::string(R"({"hello":{"name":"w","tags":["t"],"slots":4}})")));
  beast::flat_buffer message;
  worker.read(message);
  EXPECT_NE(beast::buffers_to_string(message.data()).find("welcome"), std::string::npos);
  worker.write(asio::buffer(std::string(R"({"pull":3})")));
  std::size_t tasks = 0;
  while (tasks < 3) {
    message.clear();
    worker.read(message);
    tasks += Json(beast::buffers_to_string(message.data()))["tasks"].size();
  }
  EXPECT_EQ(tasks, 3u);
}

TEST_F(TlsTest, AnyoneWithoutItIsCutOff) {
  HttpClient http = Http();
  http.Write("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(http.Read().status, 0);
}

}  // namespace
}  // namespace allot::testing
