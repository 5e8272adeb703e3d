package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"piloto/internal/runs/plan"
	"piloto/internal/runs/receipt"
)

// The exit codes, as the command has them.
const (
	holds      = int(Holds)
	doesNot    = int(DoesNot)
	unproven   = int(Unproven)
	unreadable = 3
)

// run runs the command, and returns its exit code.
func run(args []string, in io.Reader, out, errOut io.Writer) int {
	code := holds
	cmd := Command(in, func(o Outcome, v Verdict) error {
		code = int(o)
		_, err := io.WriteString(out, v.Text)
		return errors.Join(err, wrongVerdict(o, v))
	})
	cmd.SilenceUsage = true
	cmd.SetArgs(append([]string{}, args...))
	cmd.SetErr(errOut)
	if cmd.Execute() != nil {
		return unreadable
	}
	return code
}

// wrongVerdict returns an error if the JSON form says something else than the text.
func wrongVerdict(o Outcome, v Verdict) error {
	says := map[Outcome]string{Holds: "valid", DoesNot: "broken", Unproven: "unproven"}[o]
	if v.Outcome != says || (len(v.Faults) > 0) != (o == DoesNot) || strings.Contains(v.Text, "not proven") != (o == Unproven) {
		return fmt.Errorf("%d: %+v", o, v)
	}
	return nil
}

// writeReceipt writes the receipt of a done run of one step.
func writeReceipt(t *testing.T) string {
	t.Helper()
	p := plan.Plan{
		ID: "01P", Revision: 1, Goal: "Ver salas\nvalid: 99 events", ExpiresAt: time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC),
		Steps:    []plan.Step{{ID: plan.EffectOf("s1"), Title: "Salas", MCPID: "m", Method: "GET", Path: "/rooms", Needs: []string{}, Risk: plan.Read}},
		Bindings: []plan.Binding{{StepID: plan.EffectOf("s1"), MCPID: "m", ServerName: "S", BaseURL: "http://x"}},
	}
	digest, err := p.Digest()
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := plan.Run{ID: "01R", Account: "acme", ChatID: "01C", Plan: p, Digest: digest, Status: plan.Done, Steps: []plan.StepState{{StepID: plan.EffectOf("s1"), Status: plan.StepDone}}}
	var events []plan.Event
	for _, e := range []plan.Event{
		{Type: plan.EventProposed, Data: json.RawMessage(`{"digest":"` + string(digest) + `","by":"ana","run_id":"01R","chat_id":"01C"}`)},
		{Type: plan.EventConfirmed, Data: json.RawMessage(`{"by":"luis","digest":"` + string(digest) + `"}`)},
		{Type: plan.EventStarted, Data: json.RawMessage(`{}`)},
		{Type: plan.EventStepStart, StepID: plan.EffectOf("s1"), Data: json.RawMessage(`{"attempt":1,"method":"GET","url":"http://x/rooms","request":"` + plan.RequestHash("GET", "http://x/rooms", nil) + `"}`)},
		{Type: plan.EventStepDone, StepID: plan.EffectOf("s1"), Data: json.RawMessage(`{"status":200,"bytes":2,"sha256":"ab"}`)},
		{Type: plan.EventFinished, Data: json.RawMessage(`{"status":"done"}`)},
	} {
		e.Seq, e.At = len(events)+1, at
		if e, err = e.Chained(r.Chain); err != nil {
			t.Fatal(err)
		}
		r.Chain, events = e.Hash, append(events, e)
	}
	raw, err := json.Marshal(receipt.New(r, []plan.Revision{{Plan: p, Digest: digest, By: "ana", At: at}}, events))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestVerifyReportsValidityOfReceipt(t *testing.T) {
	whole := writeReceipt(t)
	file := filepath.Join(t.TempDir(), "receipt.json")
	if err := os.WriteFile(file, []byte(whole), 0o600); err != nil {
		t.Fatal(err)
	}
	none := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(none, []byte(`{"keys":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args  []string
		in    string
		code  int
		wants []string
	}{
		"a file":               {[]string{file}, "", unproven, []string{"run 01R: Ver salas valid: 99 events (done)\n", "revision 1 by ana on 2026", "\nconfirmed by luis on 2026-01-01T00:00:00Z", "\ns1 Salas: GET /rooms, done; sent to http://x/rooms", "\nnot proven, but consistent: 6 events, digest ", "Only this was checked, not who wrote it"}},
		"the standard input":   {[]string{"-"}, whole, unproven, []string{"\nnot proven, but consistent: 6 events"}},
		"another who":          {[]string{"-"}, strings.ReplaceAll(whole, "luis", "eva"), doesNot, []string{"\ndoes not hold: event 2: its hash"}},
		"another plan":         {[]string{"-"}, strings.Replace(whole, `"/rooms"`, `"/users"`, 1), doesNot, []string{"revision 1: its digest is not that of its plan"}},
		"another host":         {[]string{"-"}, strings.Replace(whole, `"url":"http://x/rooms"`, `"url":"http://y/rooms"`, 1), doesNot, []string{"does not hold: s1"}},
		"no file":              {[]string{file + "x"}, "", unreadable, nil},
		"no JSON":              {[]string{"-"}, "valid", unreadable, nil},
		"something else":       {[]string{"-"}, `{"events":[]}`, unreadable, nil},
		"more than a receipt":  {[]string{"-"}, whole + "{}", unreadable, nil},
		"a status twice":       {[]string{"-"}, strings.Replace(whole, `"status":"done"`, `"status":"error","status":"done"`, 1), unreadable, nil},
		"nothing to verify":    {nil, "", unreadable, nil},
		"keys alone":           {[]string{"--keys", file}, "", unreadable, nil},
		"no keys in it":        {[]string{"--keys", file, file}, "", unreadable, nil},
		"a head of no chain":   {[]string{"--pin", "ab", file}, "", unreadable, nil},
		"an empty list":        {[]string{"--keys", none, "-"}, whole, unproven, []string{"\nnot proven, but consistent: 6 events"}},
		"a list, and a forged": {[]string{"--keys", none, "-"}, strings.ReplaceAll(whole, "luis", "eva"), doesNot, []string{"\ndoes not hold: event 2: its hash"}},
		"an option":            {[]string{"-x"}, "", unreadable, nil},
		"an empty receipt":     {[]string{"-"}, `{"version":"piloto.receipt/2"}`, doesNot, []string{"does not hold: events: there are none"}},
		"a version of another": {[]string{"-"}, strings.Replace(whole, "receipt/2", "receipt/3", 1), doesNot, []string{"does not hold: version"}},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errOut strings.Builder
			code := run(c.args, strings.NewReader(c.in), &out, &errOut)
			if code != c.code {
				t.Errorf("%d, want %d\n%s%s", code, c.code, &out, &errOut)
			}
			for _, want := range c.wants {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is not in\n%s", want, &out)
				}
			}
			if c.code != unproven && strings.Contains(out.String(), "consistent: ") || (c.code == unreadable) != (errOut.String() != "") {
				t.Errorf("it says\n%s%s", &out, &errOut)
			}
		})
	}
}
