// Bytes a second of the HTTP/1 codec. scan: the lines of a head, with each kind of kernels that
// this processor has. head: scan and meaning. exchange: a request received and a short answer sent
// by the server codec; the same from the client codec's side. Heads: 64 bytes, and one of a browser
// with 12 fields; the answers of a small API and of a web server.
#include <array>
#include <benchmark/benchmark.h>
#include <string>

#include "steelyard/http/access_log.h"
#include "steelyard/http/framing.h"
#include "steelyard/http/http1.h"
#include "steelyard/http/rewrite.h"
#include "steelyard/http/scan.h"
#include "steelyard/http/scan_kernels.h"

namespace steelyard::http {
namespace {

constexpr std::string_view kSmall =
    "GET /api/v1/items HTTP/1.1\r\nHost: api.example.com\r\nAccept: *\r\n\r\n";
static_assert(kSmall.size() == 64);
constexpr std::string_view kBrowser =
    "GET /products/shoes/running?size=42&sort=price&page=3 HTTP/1.1\r\n"
    "Host: shop.example.com\r\n"
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n"
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8\r\n"
    "Accept-Language: en-US,en;q=0.5\r\n"
    "Accept-Encoding: gzip, deflate, br, zstd\r\n"
    "Referer: https://shop.example.com/products/shoes\r\n"
    "Cookie: session=8f14e45fceea167a5a36dedd4bea2543; theme=dark; consent=1; ab=blue\r\n"
    "Upgrade-Insecure-Requests: 1\r\n"
    "Sec-Fetch-Dest: document\r\n"
    "Sec-Fetch-Mode: navigate\r\n"
    "Sec-Fetch-Site: same-origin\r\n"
    "Priority: u=0, i\r\n\r\n";
constexpr std::string_view kSmallAnswer =
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 0\r\n\r\n";
constexpr std::string_view kPageAnswer =
    "HTTP/1.1 200 OK\r\n"
    "Server: nginx\r\n"
    "Date: Mon, 30 Nov 2026 07:14:20 GMT\r\n"
    "Content-Type: text/html; charset=utf-8\r\n"
    "Content-Length: 0\r\n"
    "Last-Modified: Sun, 29 Nov 2026 17:00:00 GMT\r\n"
    "ETag: \"5f3c-6123456789abc\"\r\n"
    "Cache-Control: public, max-age=300\r\n"
    "Vary: Accept-Encoding\r\n"
    "X-Frame-Options: DENY\r\n"
    "Strict-Transport-Security: max-age=31536000; includeSubDomains\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Accept-Ranges: bytes\r\n\r\n";

constexpr ScanLimits kLimits{65536, 100, 8192};

void scan(benchmark::State& state, std::string_view text, ScanKind kind,
          const ScanKernels* kernels) {
  std::array<Field, 100> fields;
  for (auto _ : state) {
    ScanProgress progress;
    StartLine start;
    Reset bad;
    benchmark::DoNotOptimize(
        scan_head(text, kind, kLimits, progress, start, fields, bad, *kernels));
    benchmark::DoNotOptimize(fields.data());
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text.size()));
}

void head(benchmark::State& state, std::string_view text, ScanKind kind) {
  std::array<Field, 100> fields;
  const Http1Limits limits;
  Head out;
  for (auto _ : state) {
    ScanProgress progress;
    StartLine start;
    Reset bad;
    benchmark::DoNotOptimize(scan_head(text, kind, kLimits, progress, start, fields, bad));
    const auto used = std::span(fields).first(progress.fields);
    const Meaning meaning = kind == ScanKind::kRequest
                                ? understand_request(start, used, limits, out)
                                : understand_response(start, used, Asked{Method::kGet, {}}, out);
    benchmark::DoNotOptimize(meaning.ok);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text.size()));
}

class Driver final : public CodecEvents {  // answers, or asks again, at the end of each message
 public:
  void on_head(StreamId, const Head& head) noexcept override {
    RequestEdits edits;
    edits.peer_ip = "192.0.2.7";
    edits.request_id = "0123456789abcdef";
    if (head.status == 0 && rewrites)
      benchmark::DoNotOptimize(write_request(head, edits, room_.data()));
  }
  void on_body(StreamId, base::Buf) noexcept override {}
  void on_trailers(StreamId, std::span<const Field>) noexcept override {}
  void on_end(StreamId id) noexcept override {
    if (server == nullptr) return;
    server->send_head(
        id, OutHead{base::Buf::of_static(kSmallAnswer), Method::kOther, 200, Body::kLength, 0});
    server->send_end(id);
  }
  void on_reset(StreamId, const Reset&) noexcept override { std::abort(); }
  void on_writable(StreamId) noexcept override {}
  void on_output(base::Buf bytes) noexcept override { sent += bytes.size(); }
  void on_credit(std::size_t) noexcept override {}
  void on_pending() noexcept override {}
  void on_refused(const Reset&, std::string_view) noexcept override { std::abort(); }
  void on_close(Close) noexcept override { std::abort(); }
  Room room(std::size_t) noexcept override { std::abort(); }

  ServerCodec* server = nullptr;
  bool rewrites = false;
  std::size_t sent = 0;

 private:
  std::array<char, 4096> room_{};
};

void serve(benchmark::State& state, std::string_view text, bool rewrites) {
  Driver driver;
  auto codec = make_http1_server(make_http1_pool(), driver);
  driver.server = codec.get();
  driver.rewrites = rewrites;
  codec->start();
  for (auto _ : state) codec->receive(base::Buf::of_static(text));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text.size()));
  benchmark::DoNotOptimize(driver.sent);
}

void ask(benchmark::State& state, std::string_view text) {
  Driver driver;
  auto codec = make_http1_client(make_http1_pool(), driver);
  codec->start();
  for (auto _ : state) {
    const StreamId id = codec->open();
    codec->send_head(id, OutHead{base::Buf::of_static(kSmall), Method::kGet});
    codec->send_end(id);
    codec->receive(base::Buf::of_static(text));
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text.size()));
}

void access_line(benchmark::State& state, std::string_view format_text) {
  const auto format = AccessFormat::compile(format_text);
  AccessRecord record;
  record.client_ip = "192.0.2.7";
  record.method = "GET";
  record.target = "/products/shoes/running?size=42&sort=price&page=3";
  record.protocol = "HTTP/1.1";
  record.status = 200;
  record.node = "node-a";
  record.node_address = "10.0.0.1:8080";
  const std::optional<std::string_view> fields[] = {
      "https://shop.example.com/products/shoes",
      "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"};
  record.request_fields = fields;
  std::array<char, 2048> out{};
  std::size_t bytes = 0;
  for (auto _ : state) bytes += format->write(record, out);
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
}

const bool registered = [] {
  struct Text {
    const char* name;
    std::string_view text;
    ScanKind kind;
  };
  for (const Text& one : {Text{"small_request", kSmall, ScanKind::kRequest},
                          Text{"browser_request", kBrowser, ScanKind::kRequest},
                          Text{"small_answer", kSmallAnswer, ScanKind::kResponse},
                          Text{"page_answer", kPageAnswer, ScanKind::kResponse}}) {
    const std::string name = one.name;
    for (const ScanKernels* const kernels : all_scan_kernels()) {
      const std::string full = "scan/" + name + "/" + std::string(kernels->name);
      benchmark::RegisterBenchmark(full.c_str(), scan, one.text, one.kind, kernels);
    }
    benchmark::RegisterBenchmark(("head/" + name).c_str(), head, one.text, one.kind);
    if (one.kind == ScanKind::kRequest) {
      benchmark::RegisterBenchmark(("exchange/" + name).c_str(), serve, one.text, false);
      benchmark::RegisterBenchmark(("exchange_rewritten/" + name).c_str(), serve, one.text, true);
    } else {
      benchmark::RegisterBenchmark(("exchange/" + name).c_str(), ask, one.text);
    }
  }
  benchmark::RegisterBenchmark("access/combined", access_line, "combined");
  benchmark::RegisterBenchmark("access/json", access_line, "json");
  return true;
}();

}  // namespace
}  // namespace steelyard::http
