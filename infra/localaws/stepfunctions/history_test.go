package stepfunctions

import (
	"bytes"
	"flag"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write golden files anew")

// scrub matches text that differs between runs: tokens and request ids.
var scrub = regexp.MustCompile(`AQAAAA[A-Za-z0-9+/=]{40,}|[0-9a-f]{8}-[0-9a-f-]{27}`)

// TestHistoryIsWordedAsAWS compares the wire format of histories with every kind of event:
// testdata/history.golden holds the responses of GetExecutionHistory.
func TestHistoryIsWordedAsAWS(t *testing.T) {
	fn := `"arn:aws:lambda:us-east-1:123456789012:function:`
	machines := []struct{ name, definition, input string }{
		{"function", `{"StartAt":"A","States":{"A":{"Type":"Task","Resource":` + fn + `flaky","TimeoutSeconds":9,"Retry":[{"ErrorEquals":["Flaky"]}],"Catch":[{"ErrorEquals":["States.ALL"],"ResultPath":"$.e","Next":"W"}],"Next":"W"},"W":{"Type":"Wait","Seconds":1,"Next":"C"},"C":{"Type":"Choice","Choices":[{"Variable":"$.x","IsPresent":true,"Next":"S"}],"Default":"F"},"S":{"Type":"Succeed"},"F":{"Type":"Fail","Error":"E","Cause":"c"}}}`, `{"x":"a\"b"}`},
		{"token", strings.ReplaceAll(approval, `"f"`, `"token"`), `{}`},
		{"late", strings.ReplaceAll(approval, `"f"`, `"late"`), `{}`},
		{"map", `{"StartAt":"M","States":{"M":{"Type":"Map","ItemProcessor":{"StartAt":"P","States":{"P":{"Type":"Parallel","Branches":[{"StartAt":"Q","States":{"Q":{"Type":"Choice","Choices":[{"Variable":"$","NumericEquals":2,"Next":"V"}],"Default":"X"},"V":{"Type":"Wait","Seconds":60,"End":true},"X":{"Type":"Task","Resource":` + fn + `bad","End":true}}},{"StartAt":"Y","States":{"Y":{"Type":"Wait","Seconds":50,"End":true}}}],"End":true}}},"Catch":[{"ErrorEquals":["States.ALL"],"Next":"Z"}],"End":true},"Z":{"Type":"Pass","End":true}}}`, `[1,2]`},
		{"slow", `{"StartAt":"A","TimeoutSeconds":3,"States":{"A":{"Type":"Wait","Seconds":9,"End":true}}}`, `{}`},
	}
	script := map[string][]answer{
		"flaky": {{Error: "Flaky", Message: "not yet"}, {Sleep: 20}},
		"token": {{Result: []byte("null"), Token: []tokenStep{{After: 1, Heartbeat: true}, {After: 1, Error: "No", Cause: "refused"}}}},
		"late":  {{Result: []byte("null")}},
		"bad":   {{Sleep: 1, Error: "Bad", Message: "m"}},
	}
	var got bytes.Buffer
	inWorld(t, script, func(t *testing.T, w *world) {
		for _, m := range machines {
			arn := w.run(w.create(m.name, m.definition), "run", m.input)
			w.finish(arn)
			r := httptest.NewRequest("POST", "/", strings.NewReader(`{"executionArn":"`+arn+`"}`))
			r.Header.Set("X-Amz-Target", "AWSStepFunctions.GetExecutionHistory")
			rec := httptest.NewRecorder()
			w.engine.ServeHTTP(rec, r)
			text := scrub.ReplaceAllString(rec.Body.String(), "SCRUBBED")
			got.WriteString("-- " + m.name + " --\n" + strings.ReplaceAll(text, `{"timestamp"`, "\n"+`{"timestamp"`) + "\n")
		}
	})
	const golden = "testdata/history.golden"
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(got.String(), "\n")
	for i, line := range strings.Split(string(want), "\n") {
		if i >= len(lines) || lines[i] != line {
			t.Fatalf("line %d of %s (-update writes it anew) is %s", i+1, golden, strings.Join(lines[min(i, len(lines)):min(i+1, len(lines))], ""))
		}
	}
}
