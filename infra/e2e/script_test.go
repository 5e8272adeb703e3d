package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// The commands of the scripts, besides those of testscript itself. In quoted
// words $NAME in capitals is replaced as well, so that JSON can be written as it
// is; ${s1.body.id} stays.
//
//	piloto start|stop|kill          the process: made, Ctrl-C, SIGKILL. start after
//	                                stop or kill is a restart on the same folder.
//	                                PILOTO_*, OPENAI_* and LOG_LEVEL go to it
//	[!] log RE                      the process logged a line that matches
//	http [-header 'N: V'] M PATH [BODY|@FILE]   one request; an empty V drops the header,
//	                                and a # of PATH is sent as %23
//	status N                        of the answer; anything else about it is json
//	problem N CODE                  the answer is this RFC 9457 problem, with its trace id
//	[!] json PATH [VALUE|~ RE]      of the answer: there, equal, matching; count is a length
//	[!] body RE                     the answer's text
//	keep NAME PATH                  $NAME is the value at PATH
//	chat [BODY]                     a new chat, $CHAT
//	say MESSAGE KIND                POST /api/send; keeps $RUN and $DIGEST of a plan
//	[!] reads RE                    a message of the chat
//	ends STATUS                     the run $RUN comes to that end, and its receipt holds
//	halts                           the run $RUN comes to wait for an approval, of $REQUEST
//	works STATUS                    the job $JOB comes to that status; keeps the run that it waits for as $RUN
//	model start                     a model provider, which piloto start then uses
//	model [failing] REPLY…          its next reply, or those of all attempts of one turn; see readReply
//	model request N                 its Nth request (-1: last), for json
//	service NAME start FILE         a service that serves FILE as its OpenAPI document;
//	                                the files of testdata/service are there for all
//	service NAME stop|again|document FILE
//	service NAME release            answers the requests that are held
//	service NAME does 'M /path' BEHAVIOUR…   one for each request; see readBehaviours
//	service NAME got 'M /path' N    the number of those requests
//	service NAME waits 'M /path' N  until it got N of those requests
//	service NAME request 'M /path' N         its Nth request, for json
//	register NAME [BODY]            registers a service, or tools; $NAME_ID
//	cli CODE ARG…                   the command, without a terminal: its exit code; stdout is for json and body
//	[!] said RE                     what it wrote to stderr
//	store FILE                      keeps its stdout
//	write FILE TEXT                 with variables replaced
//	mode OCTAL FILE                 the permissions of a file
//	session [N]                     the next N commands of docs/terminal.md, in a terminal; without N the rest
//	tools NAME …                    a server that speaks the Model Context Protocol; see toolServers
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setStage,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"piloto": command((*stage).piloto), "log": command((*stage).hasLogged),
			"http": command((*stage).request), "status": command((*stage).hasStatus),
			"problem": command((*stage).isProblem), "json": command((*stage).hasJSON),
			"body": command((*stage).hasBody), "keep": command((*stage).keep),
			"chat": command((*stage).newChat), "say": command((*stage).say),
			"reads": command((*stage).reads), "ends": command((*stage).ends), "halts": command((*stage).halts), "works": command((*stage).works),
			"model": command((*stage).model), "service": command((*stage).service),
			"register": command((*stage).register), "cli": command((*stage).cli), "said": command((*stage).hasSaid),
			"store": command((*stage).store), "write": command((*stage).write), "mode": command((*stage).hasMode), "session": command((*stage).session), "tools": command((*stage).toolServers),
		},
	})
}

// stage holds the state of a script.
type stage struct {
	ts       *testscript.TestScript
	t        testing.TB
	d        *deployment
	client   *client
	provider *provider
	services map[string]*service
	tools    map[string]*toolServer
	last     answer
	told     string // stderr of the last cli
	played   *recorded
	negated  bool // the current command is negated: its condition must not hold
}

// patience is how long a command waits for its condition.
func (s *stage) patience() time.Duration {
	if s.negated {
		return 0
	}
	return patience
}

type stageKey struct{}

func setStage(env *testscript.Env) error {
	t, ok := env.T().(testing.TB)
	if !ok {
		return fmt.Errorf("the scripts run under testing only")
	}
	d := newDeployment(t)
	s := &stage{t: t, d: d, client: newClient(d.url(), testToken), services: map[string]*service{}, tools: map[string]*toolServer{}}
	env.Values[stageKey{}] = s
	if err := os.CopyFS(env.WorkDir, os.DirFS("testdata/service")); err != nil {
		return err
	}
	env.Setenv("URL", d.url())
	env.Setenv("TOKEN", testToken)
	env.Setenv("AT", d.url())
	env.Setenv("CLI_TOKEN", testToken)
	env.Defer(func() {
		d.kill()
		if s.played != nil {
			_, _ = s.played.tmux("kill-server")
		}
		for _, service := range s.services {
			service.stop()
		}
		for _, server := range s.tools {
			server.stop()
		}
		if s.provider == nil {
			return
		}
		s.provider.Close()
		if err := s.provider.leftovers(); err != nil && !t.Failed() {
			t.Error(err)
		}
	})
	return nil
}

var variable = regexp.MustCompile(`\$[A-Z][A-Z0-9_]*`)

// command turns f into a command of the scripts. An error of f ends the script; a negated command expects it.
func command(f func(*stage, []string) error) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		s := ts.Value(stageKey{}).(*stage)
		s.ts, s.negated = ts, neg
		for i, arg := range args {
			args[i] = variable.ReplaceAllStringFunc(arg, func(name string) string { return ts.Getenv(name[1:]) })
		}
		err := f(s, args)
		switch {
		case neg && err == nil:
			ts.Fatalf("unexpected success; the answer was\n%s", s.last)
		case !neg && err != nil:
			ts.Fatalf("%v", err)
		}
	}
}

func usage(what string) error { return fmt.Errorf("usage: %s", what) }

func (s *stage) piloto(args []string) error {
	if len(args) != 1 {
		return usage("piloto start|stop|kill")
	}
	switch args[0] {
	case "start":
		for _, name := range []string{"PILOTO_DEMO", "PILOTO_CREDITS", "PILOTO_CONTEXT_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "LOG_LEVEL"} {
			if v := s.ts.Getenv(name); v != "" {
				s.d.env = append(s.d.env, name+"="+v)
			}
		}
		return s.d.start()
	case "stop":
		return s.d.stop(patience)
	case "kill":
		s.d.kill()
		return nil
	}
	return usage("piloto start|stop|kill")
}

func (s *stage) hasLogged(args []string) error {
	if len(args) != 1 {
		return usage("log RE")
	}
	return eventually(s.patience(), func() error { return matches(args[0], s.d.log.String()+s.d.out.String()) })
}

func matches(pattern, text string) error {
	re, err := regexp.Compile("(?s)" + pattern)
	if err != nil {
		return err
	}
	if !re.MatchString(text) {
		return fmt.Errorf("no match for %q in\n%s", pattern, tail(text))
	}
	return nil
}

func (s *stage) request(args []string) error {
	var headers []string
	for len(args) > 1 && args[0] == "-header" {
		name, value, _ := strings.Cut(args[1], ":")
		headers = append(headers, name, strings.TrimSpace(value))
		args = args[2:]
	}
	if len(args) != 2 && len(args) != 3 {
		return usage("http [-header 'N: V'] METHOD PATH [BODY|@FILE]")
	}
	body := ""
	if len(args) == 3 {
		body = args[2]
		if file, ok := strings.CutPrefix(body, "@"); ok {
			body = s.ts.ReadFile(file)
		}
	}
	var err error
	if s.last, err = s.client.do(args[0], strings.ReplaceAll(args[1], "#", "%23"), body, headers...); err != nil {
		return err
	}
	s.ts.Logf("%s", s.last)
	return nil
}

func (s *stage) hasStatus(args []string) error {
	if len(args) != 1 {
		return usage("status N")
	}
	if strconv.Itoa(s.last.status) != args[0] {
		return fmt.Errorf("want %s, got %s", args[0], s.last)
	}
	return nil
}

func (s *stage) isProblem(args []string) error {
	if len(args) != 2 {
		return usage("problem STATUS CODE")
	}
	status, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	return problemOf(s.last, status, args[1])
}

func (s *stage) hasJSON(args []string) error {
	if len(args) == 0 || len(args) > 3 || len(args) == 3 && args[1] != "~" {
		return usage("json PATH [VALUE|~ RE]")
	}
	v, ok := s.last.at(args[0])
	switch {
	case !ok:
		return fmt.Errorf("nothing at %s in %s", args[0], s.last)
	case len(args) == 3:
		return matches(args[2], scriptText(v))
	case len(args) == 2 && scriptText(v) != args[1]:
		return fmt.Errorf("at %s: want %s, got %s in %s", args[0], args[1], scriptText(v), s.last)
	}
	return nil
}

func (s *stage) hasBody(args []string) error {
	if len(args) != 1 {
		return usage("body RE")
	}
	return matches(args[0], string(s.last.body))
}

func (s *stage) keep(args []string) error {
	if len(args) != 2 {
		return usage("keep NAME PATH")
	}
	v, ok := s.last.at(args[1])
	if !ok {
		return fmt.Errorf("nothing at %s in %s", args[1], s.last)
	}
	s.ts.Setenv(args[0], scriptText(v))
	return nil
}

func (s *stage) newChat(args []string) error {
	body := "{}"
	if len(args) == 1 {
		body = args[0]
	}
	if err := s.request([]string{"POST", "/api/chats", body}); err != nil {
		return err
	}
	if err := s.hasStatus([]string{"201"}); err != nil {
		return err
	}
	return s.keep([]string{"CHAT", "chat_id"})
}

func (s *stage) say(args []string) error {
	if len(args) != 2 {
		return usage("say MESSAGE KIND")
	}
	if err := s.request([]string{"POST", "/api/send", object("chat_id", s.ts.Getenv("CHAT"), "message", args[0])}); err != nil {
		return err
	}
	if s.last.status != 200 || s.last.text("kind") != args[1] {
		return fmt.Errorf("want an answer of kind %s, got %s", args[1], s.last)
	}
	if s.last.text("run.run_id") != "" {
		s.ts.Setenv("RUN", s.last.text("run.run_id"))
		s.ts.Setenv("DIGEST", s.last.text("run.digest"))
	}
	return nil
}

// reads waits for a message, because a run writes them while it proceeds.
func (s *stage) reads(args []string) error {
	if len(args) != 1 {
		return usage("reads RE")
	}
	return eventually(s.patience(), func() error { return s.message(args[0]) })
}

// message returns nil when a message of the chat matches a pattern.
func (s *stage) message(pattern string) error {
	a, err := s.client.do("GET", "/api/chats/"+s.ts.Getenv("CHAT")+"/messages?limit=200", "")
	if err != nil {
		return err
	}
	var all []string
	for i := 0; ; i++ {
		text, ok := a.at(fmt.Sprintf("messages.%d.content", i))
		if !ok {
			break
		}
		all = append(all, scriptText(text))
		if matches(pattern, scriptText(text)) == nil {
			return nil
		}
	}
	return fmt.Errorf("no message matches %q; there are\n%s", pattern, strings.Join(all, "\n"))
}

func (s *stage) ends(args []string) error {
	if len(args) != 1 {
		return usage("ends STATUS")
	}
	var err error
	if s.last, err = s.client.waitEnded(s.ts.Getenv("RUN")); err != nil {
		return fmt.Errorf("%w\n%s", err, tail(s.d.log.String()))
	}
	if s.last.text("status") != args[0] {
		return fmt.Errorf("want the run %s, got %s", args[0], s.last)
	}
	s.ts.Logf("%s", s.last)
	return s.verifyReceipt()
}

// verifyReceipt verifies the run's receipt with the public keys.
func (s *stage) verifyReceipt() error {
	_, err := signedReceipt(s.client, s.ts.Getenv("RUN"))
	return err
}

// halts waits until the run waits for an approval.
func (s *stage) halts(args []string) error {
	if len(args) != 0 {
		return usage("halts")
	}
	return eventually(patience, func() error {
		err := s.request([]string{"GET", "/api/runs/" + s.ts.Getenv("RUN")})
		if err == nil && s.last.text("status") != "waiting" {
			err = fmt.Errorf("want the run waiting, got %s", s.last)
		}
		if err == nil {
			s.ts.Setenv("REQUEST", waitingRequest(s.last))
		}
		return err
	})
}

// waitingRequest returns the digest of the first request of a run that waits for an approval.
func waitingRequest(run answer) string {
	for i := range 50 {
		step := fmt.Sprintf("steps.%d.", i)
		if run.text(step+"status") == "waiting" {
			return run.text(step + "approval.request_digest")
		}
	}
	return ""
}

// works waits until the job has a status, and keeps the run that it waits for as $RUN.
func (s *stage) works(args []string) error {
	if len(args) != 1 {
		return usage("works STATUS")
	}
	return eventually(patience, func() error {
		err := s.request([]string{"GET", "/api/jobs/" + s.ts.Getenv("JOB")})
		if err == nil && s.last.text("status") != args[0] {
			err = fmt.Errorf("want the job %s, got %s", args[0], s.last)
		}
		if err == nil && s.last.text("waits_for") != "" {
			s.ts.Setenv("RUN", s.last.text("waits_for"))
		}
		return err
	})
}

func (s *stage) model(args []string) error {
	if len(args) == 0 {
		return usage("model start|request N|concluded N|concludes REPLY|[failing] REPLY")
	}
	switch {
	case args[0] == "start":
		s.provider = newProvider()
		s.ts.Setenv("OPENAI_BASE_URL", s.provider.URL+"/v1")
		s.ts.Setenv("OPENAI_MODEL", "fake-1")
		return nil
	case args[0] == "request" && len(args) == 2:
		return s.subject(s.provider.allRequests(), args[1])
	case args[0] == "concluded" && len(args) == 2:
		return s.subject(s.provider.allConclusions(), args[1])
	case args[0] == "concludes":
		r, err := readReply(args[1:])
		s.provider.mu.Lock()
		defer s.provider.mu.Unlock()
		s.provider.conclusions = append(s.provider.conclusions, r)
		return err
	}
	times := 1
	if args[0] == "failing" { // for each attempt of one turn
		times, args = mostAsked, args[1:]
	}
	r, err := readReply(args)
	for range times {
		s.provider.will(r)
	}
	return err
}

// mostAsked is the number of attempts of a turn when the provider fails temporarily.
const mostAsked = 3

// subject selects a recorded request for the json command.
func (s *stage) subject(list []received, which string) error {
	n, err := strconv.Atoi(which)
	if err != nil {
		return err
	}
	if n < 0 {
		n += len(list) + 1
	}
	if n < 1 || n > len(list) {
		return fmt.Errorf("there were %d requests", len(list))
	}
	r := list[n-1]
	s.last = answer{body: []byte(object("method", r.Method, "path", r.Path, "query", r.Query, "headers", r.Headers, "body", r.Body))}
	return nil
}

func (s *stage) service(args []string) error {
	if len(args) < 2 {
		return usage("service NAME start|stop|again|release|document|does|got|waits|request …")
	}
	name, verb, args := args[0], args[1], args[2:]
	if verb == "start" && len(args) == 1 {
		document, err := os.ReadFile(s.ts.MkAbs(args[0]))
		if err != nil {
			return err
		}
		upstream := newService(freeAddress(s.t), "/openapi"+filepath.Ext(args[0]), string(document))
		s.services[name] = upstream
		s.ts.Setenv(strings.ToUpper(name)+"_URL", upstream.url())
		s.ts.Setenv(strings.ToUpper(name)+"_HOST", upstream.addr)
		return upstream.start()
	}
	upstream := s.services[name]
	if upstream == nil {
		return fmt.Errorf("there is no service %s yet", name)
	}
	switch {
	case verb == "stop" && len(args) == 0:
		upstream.stop()
		return nil
	case verb == "again" && len(args) == 0:
		return upstream.start()
	case verb == "release" && len(args) == 0:
		upstream.release()
		return nil
	case verb == "document" && len(args) == 1:
		upstream.describe(s.ts.ReadFile(args[0]))
		return nil
	case verb == "does" && len(args) > 1:
		list, err := readBehaviours(args[1:])
		upstream.behave(args[0], list...)
		return err
	case verb == "got" && len(args) == 2:
		if n := len(upstream.got(args[0])); strconv.Itoa(n) != args[1] {
			return fmt.Errorf("%s was asked %d times for %q, not %s: %v", name, n, args[0], args[1], upstream.got(""))
		}
		return nil
	case verb == "waits" && len(args) == 2:
		return eventually(patience, func() error { return s.service([]string{name, "got", args[0], args[1]}) })
	case verb == "request" && len(args) == 2:
		return s.subject(upstream.got(args[0]), args[1])
	}
	return usage("service NAME start|stop|again|release|document|does|got|waits|request …")
}

func (s *stage) register(args []string) error {
	if len(args) != 1 && len(args) != 2 {
		return usage("register NAME [BODY]")
	}
	body := object("url", s.ts.Getenv(strings.ToUpper(args[0])+"_URL"))
	if len(args) == 2 {
		body = args[1]
	}
	if err := s.request([]string{"POST", "/api/mcps", body}); err != nil {
		return err
	}
	if err := s.hasStatus([]string{"201"}); err != nil {
		return err
	}
	return s.keep([]string{strings.ToUpper(args[0]) + "_ID", "mcp_id"})
}
