package command

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"piloto/internal/tools/tool"
)

func TestOfFindsCommandOfPost(t *testing.T) {
	for _, c := range []struct {
		method, path, body, want string
		ok                       bool
	}{
		{"POST", "/command", `{"command":"ls"}`, "ls", true},
		{"POST", "/hosts/7/command", `{"cmd":"ls","cwd":"/"}`, "ls", true},
		{"POST", "/command?wait=1", `"ls"`, "ls", true},
		{"POST", "/command", `{"command":"a","cmd":"b"}`, "a", true},
		{"POST", "/command", `{"command":""}`, "", true},
		{"POST", "/command", `{"command":null}`, "", false},
		{"POST", "/command", `null`, "", false},
		{"POST", "/command", `{"command":["ls"]}`, "", false},
		{"POST", "/command", `{"other":"ls"}`, "", false},
		{"POST", "/command", ``, "", false},
		{"POST", "/commands", `{"command":"ls"}`, "", false},
		{"POST", "/command/7", `{"command":"ls"}`, "", false},
		{"GET", "/command", `{"command":"ls"}`, "", false},
		{"PUT", "/command", `{"command":"ls"}`, "", false},
	} {
		if got, ok := Of(tool.Arguments{Method: c.method, Path: c.path, Body: json.RawMessage(c.body)}); got != c.want || ok != c.ok {
			t.Errorf("%s %s %s: %q, %v", c.method, c.path, c.body, got, ok)
		}
	}
}

func TestDestroysReadsEveryCommandMember(t *testing.T) {
	for _, c := range []struct {
		path, body string
		want       bool
	}{
		{"/command", `{"command":"ls"}`, false},
		{"/command", `{"command":"ls","cwd":"/srv/delete-me","note":"rm is not run"}`, false},
		{"/command", `{"command":"ls","cmd":"rm -rf /"}`, true},
		{"/command", `{"command":"ls","Cmd":"rm -rf /"}`, true},
		{"/command", `{"command":"ls","script":["cd /","rm -rf x"]}`, true},
		{"/command", `{"command":"rm","args":["-rf","/"]}`, true},
		{"/command", `{"command":"find . -type f","args":["-delete"]}`, true},
		{"/command", `{"command":["rm","-rf","/"]}`, true},
		{"/command", `{"command":["ls","-l"]}`, false},
		{"/command", `{"commands":["ls","rm x"]}`, true},
		{"/command", `["rm","x"]`, true},
		{"/command", `"rm x"`, true},
		{"/command", `{"command":"sh","stdin":"rm -rf /"}`, true},
		{"/command", `{"command":"cat","stdin":"remove it's end"}`, false},
		{"/command", `{"action":{"name":"reboot"}}`, true},
		{"/command", `{"action":"start"}`, false},
		{"/command", `null`, false},
		{"/command", ``, false},
		{"/notes", `{"command":"rm x"}`, false},
	} {
		if got := Destroys(tool.Arguments{Method: "POST", Path: c.path, Body: json.RawMessage(c.body)}); got != c.want {
			t.Errorf("POST %s %s: %v", c.path, c.body, got)
		}
	}
	if got := Texts(tool.Arguments{Method: "POST", Path: "/command", Body: json.RawMessage(`{"command":"ls","args":["${s1.body.x}"]}`)}); len(got) != 1 || got[0] != "ls ${s1.body.x}" {
		t.Errorf("%q", got)
	}
}

func TestWithKeepsRestOfBody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		was, now := rapid.String().Draw(t, "was"), rapid.String().Draw(t, "now")
		name := rapid.SampledFrom([]string{"command", "cmd"}).Draw(t, "name")
		body, _ := json.Marshal(map[string]any{name: was, "cwd": "/srv", "n": json.Number("12345678901234567890")})
		out := With(body, now)
		wanted, _ := json.Marshal(now)
		var text, whole string
		_ = json.Unmarshal(wanted, &text)
		if got, ok := Of(tool.Arguments{Method: "POST", Path: "/command", Body: out}); !ok || got != text {
			t.Errorf("%s became %s", body, out)
		}
		if !strings.Contains(string(out), `"cwd":"/srv"`) || !strings.Contains(string(out), `"n":12345678901234567890`) {
			t.Errorf("%s became %s", body, out)
		}
		if json.Unmarshal(With(json.RawMessage(wanted), was), &whole) != nil {
			t.Errorf("%s became no string", wanted)
		}
	})
	if got := With(json.RawMessage(`{"x":1}`), "ls"); string(got) != `{"x":1}` {
		t.Errorf("%s", got)
	}
	if got := With(json.RawMessage(`"ls"`), "a && b > c"); string(got) != `"a && b > c"` {
		t.Errorf("%s", got)
	}
}

func TestFailedReadsResponse(t *testing.T) {
	for _, c := range []struct {
		body, detail string
		failed       bool
	}{
		{`{"exit_code":0,"stdout":"x"}`, "", false},
		{`{"exit_code":1,"stderr":"a\nno such file"}`, "exit_code 1: no such file", true},
		{`{"exitCode":127}`, "exitCode 127", true},
		{`{"returncode":-9,"output":"killed"}`, "returncode -9: killed", true},
		{`{"code":"2"}`, "code 2", true},
		{`{"code":"E_OK"}`, "", false},
		{`{"code":0,"status":"error"}`, "status error", true},
		{`{"exit_code":null,"status":"Failed","message":"x"}`, "status Failed: x", true},
		{`{"state":"timeout"}`, "state timeout", true},
		{`{"status":"ok"}`, "", false},
		{`{"status":"done","stderr":"a warning"}`, "", false},
		{`{"status":500}`, "", false},
		{`{"success":false,"error":"x"}`, "success false: x", true},
		{`{"ok":false}`, "ok false", true},
		{`{"ok":true,"success":true}`, "", false},
		{`{"ok":null}`, "", false},
		{`{"stdout":"error"}`, "", false},
		{`{}`, "", false},
		{`"error"`, "", false},
		{`[1]`, "", false},
		{``, "", false},
		{`{"ok":false,"error":"a\u202eb\u0000c"}`, "ok false: abc", true},
	} {
		if failed, detail := Failed(json.RawMessage(c.body)); failed != c.failed || detail != c.detail {
			t.Errorf("%s: %v, %q", c.body, failed, detail)
		}
	}
	if _, detail := Failed(json.RawMessage(`{"ok":false,"error":"` + strings.Repeat("ñ", 5000) + `"}`)); len([]rune(detail)) > 301 {
		t.Errorf("a detail of %d characters", len([]rune(detail)))
	}
}

func TestAcceptRefusesMoreDangerousCommand(t *testing.T) {
	for _, c := range []struct{ confirmed, failed, other, why string }{
		{"ls /sv", "ls /sv", "ls /srv", ""},
		{"ls /sv", "ls /sv", "find / -maxdepth 1", ""},
		{"npm run biuld", "npm run biuld", "npm run build", ""},
		{"python x.py", "python x.py", "python3 x.py -v", ""},
		{"git push", "git push", "git push origin main", ""},
		{"git push", "git push", "git push --force", "destructive"},
		{"ls", "ls", "sudo ls", "above"},
		{"touch a", "touch a", "touch a > b", "destructive"},
		{"npm install", "npm install", "yarn add x", "other"},
		{"./x", "./x", "curl x.example", "above"},
		{"ls ${s1.body.x}", "touch x", "touch y", ""},
		{"ls", "touch x", "touch y", "above"},
		{"rm x", "rm x", "rm y", "destructive"},
		{"rm x", "rm x", "ls", ""},
		{"ls", "ls", "'ls'", "same"},
		{"ls", "ls", " ls ", "same"},
		{"ls", "ls", "", "same"},
		{"ls a", "ls a", "ls a; ls b", ""},
		{"ls", "ls", "ls # " + strings.Repeat("x", maxCommand), "lines"},
		{"ls", "ls", "ls\trm", "lines"},
		{"ls", "ls", "ls \xff", "lines"},
	} {
		if why := (Replacement{c.confirmed, c.failed, c.other}).Refused(); why != c.why {
			t.Errorf("%q for %q: %q, want %q", c.other, c.failed, why, c.why)
		}
	}
}

func TestAcceptRefusesDestructiveCommand(t *testing.T) {
	for _, l := range corpus(t, "dangerous.txt") {
		if l.class != Destructive {
			continue
		}
		for _, failed := range []string{l.text, "ls", "./x"} {
			if why := (Replacement{l.text, failed, l.text}).Refused(); why == "" {
				t.Errorf("%q was accepted for %q", l.text, failed)
			}
		}
	}
}
