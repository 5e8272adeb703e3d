package telemetry

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// corpus reads testdata/NAME: one line each, "\n" for a line break, and # for a
// comment.
func corpus(t testing.TB, name string) []string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimRight(line, "\n")
		if line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.ReplaceAll(line, `\n`, "\n"))
		}
	}
	return lines
}

// TestSecretsAreRedacted: in the corpus every secret holds the word CANARY.
func TestSecretsAreRedacted(t *testing.T) {
	lines := corpus(t, "secrets.txt")
	if len(lines) < 60 {
		t.Fatalf("only %d lines", len(lines))
	}
	for _, line := range lines {
		got := Redact(line)
		if strings.Contains(got, "CANARY") || !strings.Contains(got, redacted) {
			t.Errorf("%q\n became %q", line, got)
		}
		if again := Redact(got); again != got {
			t.Errorf("%q\n became %q\n and then %q", line, got, again)
		}
	}
}

func TestOrdinaryTextIsKept(t *testing.T) {
	for _, line := range corpus(t, "ordinary.txt") {
		if got := Redact(line); got != line {
			t.Errorf("%q\n became %q", line, got)
		}
	}
}

// TestRedactTakesLinearTime compares a text with one eight times as long: with
// quadratic work the ratio would be 64.
func TestRedactTakesLinearTime(t *testing.T) {
	cost := func(text string) time.Duration {
		best := time.Hour
		for range 3 {
			start := time.Now()
			_ = Redact(text)
			best = min(best, time.Since(start))
		}
		return best
	}
	for _, unit := range []string{"a", "Bearer ", "token=", `"password":"`, "://", "sk-", "eyJ", "\\\"", "cookie: ", "?key", "token_", "api-api-"} {
		small, large := strings.Repeat(unit, 2<<10/len(unit)), strings.Repeat(unit, 16<<10/len(unit))
		if a, b := cost(small), cost(large); b > 30*a+20*time.Millisecond {
			t.Errorf("%q: %v for 2 KB, %v for 16 KB", unit, a, b)
		}
	}
}

func FuzzRedact(f *testing.F) {
	for _, name := range []string{"secrets.txt", "ordinary.txt"} {
		for _, line := range corpus(f, name) {
			f.Add(line)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		once := Redact(text)
		if twice := Redact(once); twice != once {
			t.Fatalf("%q\n became %q\n and then %q", text, once, twice)
		}
	})
}

// BenchmarkLine is one request.end line.
func BenchmarkLine(b *testing.B) {
	log := New(io.Discard, slog.LevelInfo, "piloto.test")
	ctx := WithTrace(b.Context(), "4bf92f3577b34da6a3ce929d0e0e4736")
	for b.Loop() {
		log.InfoContext(ctx, "request.end", "method", "POST", "route", "POST /api/runs/{id}/confirm", "status", 202, "duration_ms", 12)
	}
}

func BenchmarkRedact(b *testing.B) {
	text := strings.Repeat(`get item "table": operation error DynamoDB: GetItem, https response error StatusCode: 400, RequestID: abc, `, 10)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		_ = Redact(text)
	}
}

// A name is compared with the expression only when it has one of the stems.
func TestEveryNameOfASecretHasAStem(t *testing.T) {
	for name := range strings.SplitSeq(strings.NewReplacer("[_-]?", "_", "s?", "s").Replace(names), "|") {
		for _, name := range []string{name, "x_" + strings.ToUpper(name)} {
			if !secretName(name) {
				t.Errorf("%s is no secret", name)
			}
		}
	}
	if secretName("status") || secretName("tokens") {
		t.Error("a count is a secret")
	}
}
