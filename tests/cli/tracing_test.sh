# SPDX-License-Identifier: Apache-2.0
# Spans for a collector of OpenTelemetry: of jobs that carry a trace, and of no others; what a collector does not take is
# dropped and counted, and nobody waits for it.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip "no python3"

# A collector that writes the spans it gets, one a line, and answers with the status in the file `status`.
cat >collector.py <<'PYTHON'
import http.server, json, sys

class Collector(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status = int(open("status").read())
        with open("requests", "a") as out:
            out.write(f"{self.path} {self.headers['Content-Type']} {self.headers.get('X-Key', '-')} {status}\n")
        if status == 200:
            with open("spans", "a") as out:
                for resource in body["resourceSpans"]:
                    of = {a["key"]: a["value"]["stringValue"] for a in resource["resource"]["attributes"]}
                    for scope in resource["scopeSpans"]:
                        for span in scope["spans"]:
                            span["attributes"] = {a["key"]: next(iter(a["value"].values())) for a in span["attributes"]}
                            out.write(json.dumps({**span, "service": of["service.name"]}) + "\n")
        answer = b"{}"
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *unused):
        pass

server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Collector)
print(server.server_port, flush=True)
server.serve_forever()
PYTHON
: >spans && : >requests && echo 200 >status
collect() {
  python3 collector.py "${1:-0}" >collector.port 2>collector.log &
  collector_pid=$!
  pids+=("$collector_pid")
  eventually grep -q . collector.port
  collector=$(cat collector.port)
}
collect

metric() { curl -sSf "$ALLOT_SERVER/metrics" | awk -v name="$1" '$1 == name { print $2 }'; }
spans() { jq -c "select($1)" spans; }
trace=0af7651916cd43dd8448eb211c80319c
parent=b7ad6b7169203331

# Off by default: no collector is asked, and a trace goes to the worker as ever.
serve
worker square -- sh -c 'read n; echo "$n $TRACEPARENT"'
has "$(echo 7 | allot submit --tag square --trace "00-$trace-$parent-01" --results --quiet)" "7 00-$trace-$parent-01"
same "" "$(cat requests)"
same 0 "$(metric allotter_spans_exported_total)"
kill -TERM "$worker_pid" && kill -TERM "$server_pid" && ends "$server_pid"

# On, by the variable that all programs with OpenTelemetry share. Its headers are secrets: they are in no log.
OTEL_EXPORTER_OTLP_HEADERS='x-key=s%20cret' OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:$collector/ serve
worker square --name host-1 -- sh -c 'read n; [ "$n" != 3 ] && echo "$n"'
job=$(seq 3 | allot submit --tag square --trace "00-$trace-$parent-01" --max-attempts 2 --backoff-first 10ms)
allot wait "$job" >/dev/null || true
# Neither without a trace, nor where nobody samples it, nor with one that is none.
other=$(allot submit --tag square --payload 1)
other="$other $(allot submit --tag square --payload 1 --trace "00-$trace-$parent-00")"
other="$other $(allot submit --tag square --payload 1 --trace nonsense)"
for one in $other; do allot wait "$one" >/dev/null; done
# A submit, three first waits, three attempts that ended and one more.
all() { [ "$(spans ".attributes.\"allotter.job\" == \"$job\"" | wc -l)" = 8 ]; }
eventually all
same 8 "$(wc -l <spans)"
same "/v1/traces application/json s cret 200" "$(sort -u requests)"
for one in submit:1 wait:3 run:4; do same "${one#*:}" "$(spans ".name == \"${one%:*}\"" | wc -l)"; done
json "$(jq -s . spans)" --arg trace "$trace" --arg parent "$parent" '
  all(.[]; .traceId == $trace and .parentSpanId == $parent and (.spanId | test("^[0-9a-f]{16}$")) and .service == "allotter"
    and .attributes."allotter.queue" == "default" and (.endTimeUnixNano | tonumber) >= (.startTimeUnixNano | tonumber))
  and ([.[].spanId] | length == (unique | length))'
same 2 "$(spans '.attributes."allotter.outcome" == "done" and .status == null' | wc -l)"
same 2 "$(spans '.attributes."allotter.outcome" == "failed" and .status.code == 2 and .attributes."allotter.task" == "2"' | wc -l)"
same "1 2" "$(spans '.attributes."allotter.task" == "2" and .name == "run"' | jq -r '.attributes."allotter.attempt"' | sort | xargs)"
exported() { [ "$(metric allotter_spans_exported_total)" = 8 ]; }
eventually exported
same 0 "$(metric allotter_spans_dropped_total)"
hasnt "$(cat serve.log)" cret

# A collector that refuses, and then none at all: work goes on, spans are counted as lost. Said once.
echo 400 >status
allot submit --tag square --payload 1 --trace "00-$trace-$parent-01" --wait --quiet
lost() { [ "$(metric allotter_spans_dropped_total)" -ge 3 ]; }
eventually lost
has "$(cat serve.log)" "spans are dropped"
same 1 "$(grep -c 'spans are dropped' serve.log)"
kill -TERM "$collector_pid" && ends "$collector_pid"
allot submit --tag square --payload 1 --trace "00-$trace-$parent-01" --wait --quiet
# It comes back: what waited is sent.
echo 200 >status
collect "$collector"
eventually grep -q 'spans are sent again' serve.log

# What waits when the server ends is sent before.
last=$(allot submit --tag nobody --trace "00-$trace-$parent-01" --count 1 --quiet)
kill -TERM "$server_pid"
ends "$server_pid"
same 0 "$code"
same submit "$(spans ".attributes.\"allotter.job\" == \"$last\"" | jq -r .name)"

# The flag goes before the variable; what is no collector is refused, and secrets have their own place.
OTEL_EXPORTER_OTLP_ENDPOINT=http://other:1 exits 0 allot config show --otlp-endpoint http://127.0.0.1:1
has "$(printf '%s' "$out" | grep otlp_endpoint)" "http://127.0.0.1:1"
has "$(printf '%s' "$out" | grep otlp_endpoint)" "flag --otlp-endpoint"
exits 2 allot config check --otlp-endpoint ftp://x
has "$err" "http://"
exits 2 allot config check --otlp-endpoint http://me:secret@127.0.0.1:4318
has "$err" "OTEL_EXPORTER_OTLP_HEADERS"
