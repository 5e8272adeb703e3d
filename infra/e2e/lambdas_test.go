package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// onlyAsProcesses skips a test in the mode without processes for functions.
func onlyAsProcesses(t *testing.T) {
	t.Helper()
	if !asProcesses() {
		t.Skip("functions are in the process: there is none of theirs to look at; see -lambda=process")
	}
	if runtime.GOOS != "linux" {
		t.Skip("processes are found in /proc")
	}
}

// children returns the running processes of a deployment's functions, by function.
func (d *deployment) children(t testing.TB) map[string][]int {
	t.Helper()
	found := map[string][]int{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || parent(pid) != d.cmd.Process.Pid {
			continue
		}
		if exe, err := os.Readlink(filepath.Join("/proc", e.Name(), "exe")); err == nil && filepath.Base(exe) == "bootstrap" {
			name := filepath.Base(filepath.Dir(exe))
			found[name] = append(found[name], pid)
		}
	}
	return found
}

// parent returns the parent of a process, 0 for a process that ended.
func parent(pid int) int {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 2 || fields[0] == "Z" {
		return 0
	}
	ppid, _ := strconv.Atoi(fields[1])
	return ppid
}

// TestKillLeavesNoFunctionProcess: the functions end with the process, however that ends, and the folder is free.
func TestKillLeavesNoFunctionProcess(t *testing.T) {
	t.Parallel()
	onlyAsProcesses(t)
	d, c := startDemonstration(t)
	for _, how := range []string{"kill", "Ctrl-C"} {
		chat := c.chat(t)
		c.say(t, chat, "Hola")
		before := d.children(t)
		if len(before["chat"]) == 0 || len(before["authorize"]) == 0 {
			t.Fatalf("what answers a turn? %v", before)
		}
		if how == "kill" {
			d.kill()
		} else if err := d.stop(patience); err != nil {
			t.Fatal(err)
		}
		if err := eventually(patience, func() error {
			for name, pids := range before {
				for _, pid := range pids {
					if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err == nil && filepath.Base(exe) == "bootstrap" && parent(pid) != 0 {
						return fmt.Errorf("%s is still there: process %d", name, pid)
					}
				}
			}
			return nil
		}); err != nil {
			t.Errorf("after %s: %v", how, err)
		}
		d.mustStart(t)
		c.must(t, 200, "GET", "/api/chats/"+chat, "")
	}
}

// TestFunctionsInheritNoEnvironment: functions get no key and no other variable of the person's environment. Their
// settings come from the secret and the template.
func TestFunctionsInheritNoEnvironment(t *testing.T) {
	t.Parallel()
	onlyAsProcesses(t)
	model := newProvider()
	t.Cleanup(model.Close)
	d := newDeployment(t, "PILOTO_DEMO=off", "OPENAI_API_KEY=sk-canary-0123456789", "OPENAI_BASE_URL="+model.URL+"/v1", "OPENAI_MODEL=fake-1",
		"HTTP_PROXY=http://127.0.0.1:9", "SOMETHING=canary")
	d.mustStart(t)
	c := newClient(d.url(), testToken)
	model.will(reply{text: "Hola."})
	c.say(t, c.chat(t), "Hola")
	if asked := model.allRequests(); len(asked) != 1 || asked[0].Headers["Authorization"] != "Bearer sk-canary-0123456789" {
		t.Errorf("the key did not arrive: %+v", asked)
	}
	for name, pids := range d.children(t) {
		for _, pid := range pids {
			env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
			if err != nil {
				continue // it ended
			}
			for _, canary := range []string{"sk-canary", "PILOTO_TOKEN", testToken, "SOMETHING", "HTTP_PROXY", "PATH=" + os.Getenv("PATH")} {
				if strings.Contains(string(env), canary) {
					t.Errorf("%s has %s in its environment", name, canary)
				}
			}
			for _, wanted := range []string{"AWS_LAMBDA_RUNTIME_API=127.0.0.1:", "TABLE_NAME=", "AWS_LAMBDA_LOG_GROUP_NAME=/piloto/piloto/" + name} {
				if !strings.Contains(string(env), wanted) {
					t.Errorf("%s has no %s in its environment", name, wanted)
				}
			}
		}
	}
}

// impatient returns the template with shorter timeouts for two functions.
func impatient(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	changed := string(text)
	for _, c := range [][2]string{{"Timeout: 29 # an HTTP API gives up at 30", "Timeout: 3"}, {"Role: !GetAtt StepRole.Arn\n      Timeout: 900\n", "Role: !GetAtt StepRole.Arn\n      Timeout: 3\n"}} {
		if strings.Count(changed, c[0]) != 1 {
			t.Fatalf("template.yaml has %q %d times", c[0], strings.Count(changed, c[0]))
		}
		changed = strings.Replace(changed, c[0], c[1], 1)
	}
	folder := t.TempDir()
	if err := os.Symlink(filepath.Join(root, "statemachines"), filepath.Join(folder, "statemachines")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "template.yaml")
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestInterruptedStepIsInDoubt: the process of a step is killed, or its timeout ends, during an unsafe call. The
// call is not repeated; other requests are answered meanwhile; and when the step can no longer be running, the run
// is in doubt.
func TestInterruptedStepIsInDoubt(t *testing.T) {
	onlyAsProcesses(t)
	for _, how := range []string{"killed", "out of time"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			model := newProvider()
			t.Cleanup(model.Close)
			d := newDeployment(t, "PILOTO_DEMO=off", "OPENAI_BASE_URL="+model.URL+"/v1", "OPENAI_MODEL=fake-1")
			says := "signal: killed"
			if how == "out of time" {
				d.args, says = []string{"-template", impatient(t)}, "Task timed out after 3.00 seconds"
			}
			d.mustStart(t)
			c := newClient(d.url(), testToken)
			upstream := startOrders(t)
			server := c.must(t, 201, "POST", "/api/mcps", object("url", upstream.url())).text("mcp_id")
			run := propose(t, c, model, c.chat(t),
				map[string]any{"id": "s1", "title": "uno", "mcp_id": server, "method": "POST", "path": "/orders/1/pay"},
				map[string]any{"id": "s2", "title": "dos", "mcp_id": server, "method": "POST", "path": "/orders/2/pay"})
			id := run.text("run.run_id")
			upstream.behave("POST /orders/1/pay", behaviour{kind: behaveHold})
			c.must(t, 202, "POST", "/api/runs/"+id+"/confirm", object("digest", run.text("run.digest")))
			if err := eventually(patience, func() error {
				if len(upstream.got("POST /orders/1/pay")) == 0 {
					return fmt.Errorf("the call is not under way")
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if how == "killed" {
				pids := d.children(t)["step"]
				if len(pids) != 1 {
					t.Fatalf("the step is run by %v", pids)
				}
				process, err := os.FindProcess(pids[0])
				if err == nil {
					err = process.Kill()
				}
				if err != nil {
					t.Fatal(err)
				}
				if err := eventually(patience, func() error {
					if parent(pids[0]) != 0 {
						return fmt.Errorf("process %d is still there", pids[0])
					}
					return nil
				}); err != nil {
					t.Fatal(err)
				}
			}
			if err := eventually(patience, func() error { // it is invoked again, and does not repeat the call
				if err := matches(says, d.log.String()); err != nil {
					return err
				}
				// A step that timed out may have had the time to write that it got no answer.
				return matches("another invocation may still be in its call|Step.InDoubt", d.log.String())
			}); err != nil {
				t.Fatal(err)
			}
			c.chat(t)
			status := c.must(t, 200, "GET", "/api/runs/"+id, "").text("status")
			if status != "running" && (how == "killed" || status != "in_doubt") {
				t.Errorf("the run is %s: nobody knows yet", status)
			}
			d.kill()
			d.mustStart(t)
			ended, err := c.waitEnded(id)
			if err != nil || ended.text("status") != "in_doubt" {
				t.Errorf("%v %s\n%s", err, ended, tail(d.log.String()))
			}
			if first, second := len(upstream.got("POST /orders/1/pay")), len(upstream.got("POST /orders/2/pay")); first != 1 || second != 0 {
				t.Errorf("the service was asked %d and %d times, want once and not at all", first, second)
			}
		})
	}
}
