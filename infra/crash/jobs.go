package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// longAway is how long the machine is off before the sweep must wake a job whose plan ended while nobody heard it.
const longAway = 20 * time.Minute

var ended = []string{"success", "partial", "failed"}

// allowReads lets turns and jobs read the service.
func allowReads(v *user) error {
	list, err := v.client.get("/api/mcps")
	if err != nil {
		return err
	}
	_, err = v.client.again(http.StatusOK, "PUT", "/api/mcps/"+list.text("mcps.0.mcp_id")+"/reads", object("mode", "on"))
	return err
}

// prompt returns the prompt of the job of a round, which no other round has, and which has the model follow a script.
func (v *user) prompt(script string) string {
	return "Haz el plan " + script + " (" + filepath.Base(v.d.folder) + ")"
}

func startJob(v *user) error { return v.startJob("book") }

// startJob starts a job that follows a script; more are further members of its body. When the response is lost, the list of
// jobs shows whether it was started.
func (v *user) startJob(script string, more ...any) error {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		r, err := v.client.once("POST", "/api/agents/build/jobs", object(append([]any{"prompt", v.prompt(script)}, more...)...))
		switch {
		case err == nil && r.status == http.StatusAccepted:
			v.setJob(r.text("job_id"), r.text("chat_id"))
			return nil
		case errors.Is(err, errLeft), err == nil && r.status != http.StatusServiceUnavailable:
			return fmt.Errorf("start of a job: %w %s", err, r)
		}
		list, err := v.client.get("/api/jobs")
		if err != nil {
			return err
		}
		if id := list.text("jobs.0.job_id"); id != "" {
			v.setJob(id, list.text("jobs.0.chat_id"))
			return nil
		}
	}
	return errors.New("the start of a job was never answered")
}

// startJobOnce starts a job under a key, until it gets the response, and then once more: the response must be the same.
func (v *user) startJobOnce() error {
	first := ""
	for deadline := time.Now().Add(lease + patience); ; time.Sleep(50 * time.Millisecond) {
		r, err := v.client.once("POST", "/api/agents/build/jobs", object("prompt", v.prompt("book")), "Idempotency-Key", "job-"+filepath.Base(v.d.folder))
		switch {
		case err == nil && r.status == http.StatusAccepted && first == "":
			first = string(r.body)
			v.setJob(r.text("job_id"), r.text("chat_id"))
		case err == nil && r.status == http.StatusAccepted:
			if string(r.body) != first {
				return fmt.Errorf("under the same key:\n%s\n%s", first, r.body)
			}
			return nil
		case errors.Is(err, errLeft), time.Now().After(deadline),
			err == nil && r.status != http.StatusServiceUnavailable && r.text("code") != "request.in_progress":
			return fmt.Errorf("start of a job: %w %s", err, r)
		}
	}
}

// findJob finds the job that an earlier process started.
func (v *user) findJob() error {
	list, err := v.client.get("/api/jobs")
	if err == nil && list.text("jobs.0.job_id") == "" {
		err = fmt.Errorf("there is no job: %s", list)
	}
	v.setJob(list.text("jobs.0.job_id"), list.text("jobs.0.chat_id"))
	return err
}

func (v *user) setJob(id, chat string) {
	v.job, v.chat = id, chat
	v.acked.chats = append(v.acked.chats, chat)
}

// awaitJob waits until the job is in one of the states.
func (v *user) awaitJob(states ...string) (reply, error) {
	return v.awaitJobThat(fmt.Sprint("be ", states), func(j reply) bool { return slices.Contains(states, j.text("status")) })
}

// awaitMember waits until the job has a member.
func (v *user) awaitMember(name string) (reply, error) {
	return v.awaitJobThat("have "+name, func(j reply) bool { return j.text(name) != "" })
}

func (v *user) awaitJobThat(what string, is func(reply) bool) (reply, error) {
	var last reply
	late := time.Now().Add(soon)
	for deadline := time.Now().Add(endLimit); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		var err error
		if last, err = v.client.get("/api/jobs/" + v.job); err != nil || is(last) {
			return last, err
		}
		if v.isLate(late) {
			if err := v.skipAhead(longAway); err != nil {
				return last, err
			}
		}
	}
	return last, fmt.Errorf("the job should %s by now: %.*s", what, maxShown, last)
}

func awaitJobEnd(v *user) error {
	_, err := v.awaitJob(ended...)
	return err
}

// awaitProposal waits until the job waits for its plan.
func awaitProposal(v *user) error {
	j, err := v.awaitMember("waits_for")
	if err != nil {
		return err
	}
	v.run = j.text("waits_for")
	v.acked.runs = append(v.acked.runs, v.run)
	r, err := v.client.get("/api/runs/" + v.run)
	v.digest = r.text("digest")
	return err
}

// stopJob asks the job to stop. When the response is lost, the job shows whether it was asked.
func (v *user) stopJob() error {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		r, err := v.client.once("POST", "/api/jobs/"+v.job+"/stop", "{}")
		switch {
		case err == nil && r.status == http.StatusAccepted:
			return nil
		case errors.Is(err, errLeft), err == nil && r.status != http.StatusServiceUnavailable:
			return fmt.Errorf("stop of a job: %w %s", err, r)
		}
		j, err := v.client.get("/api/jobs/" + v.job)
		if err != nil {
			return err
		}
		if j.text("stopping") == "true" || slices.Contains(ended, j.text("status")) {
			return nil
		}
	}
	return errors.New("the stop of a job was never answered")
}

// jobView is a job and its events, as the API shows them.
type jobView struct {
	Prompt string
	Status string
	Reason string `json:"stop_reason"`
	Output string
	Rounds int
	Reads  int        `json:"looks"`
	Cost   int64      `json:"cost_micros"`
	Lost   int        `json:"lost_calls"`
	Unsure []string   `json:"unknown"`
	Events []jobEvent `json:"-"` // the job has only their number
}

type jobEvent struct {
	Seq  int
	Type string
	Data struct {
		Round int
		Text  string
		Run   string `json:"run_id"`
		Cost  int64  `json:"cost_micros"`
	}
}

// checkJob returns the check of a job that ended in a state, for a reason, after a number of rounds: it ended once, no
// answer of its model was handled twice, its events have no gap, and its costs add up. A job whose plan is in doubt is
// partial, and names the plan. lost is the number of calls that were lost before its client came.
func checkJob(status, reason string, rounds, lost int) func(*user) error {
	return func(v *user) error {
		var s jobView
		var log struct{ Events []jobEvent }
		r, err := v.client.get("/api/jobs/" + v.job)
		events, eventsErr := v.client.get("/api/jobs/" + v.job + "/events")
		if err := errors.Join(err, eventsErr, json.Unmarshal(r.body, &s), json.Unmarshal(events.body, &log)); err != nil {
			return err
		}
		s.Events = log.Events
		want, unsure := status, 0
		run, err := v.client.get("/api/runs/" + v.run)
		if run.text("status") == "in_doubt" {
			want, unsure = "partial", 1
		}
		wrong := []error{err}
		if len(s.Unsure) != unsure {
			wrong = append(wrong, fmt.Errorf("want %d plans of unknown outcome", unsure))
		}
		if s.Status != want || s.Reason != reason || s.Rounds != rounds || s.Reads != 1 {
			wrong = append(wrong, fmt.Errorf("want %s %s after %d rounds and a look", want, reason, rounds))
		}
		wrong = append(wrong, s.checkEvents(), s.checkCalls(v, lost), s.checkCost(v), s.checkChat(v), checkNothingElse(v))
		if err := errors.Join(wrong...); err != nil {
			return fmt.Errorf("%w\n%s\n%s", err, r, events)
		}
		return nil
	}
}

// checkEvents checks that every event is there, and there once.
func (s jobView) checkEvents() error {
	var wrong []error
	count, told := map[string]int{}, map[string]bool{}
	for i, e := range s.Events {
		if e.Seq != i+1 {
			wrong = append(wrong, fmt.Errorf("event %d of the job has number %d", i+1, e.Seq))
		}
		count[e.Type]++
		if e.Type != "job.round" && e.Type != "job.judged" {
			continue
		}
		if handled := count["job.round"] + count["job.judged"]; e.Data.Round != handled || told[e.Data.Text] {
			wrong = append(wrong, fmt.Errorf("round %d is the %d. one that was handled, with %q", e.Data.Round, handled, e.Data.Text))
		}
		told[e.Data.Text] = e.Type == "job.round"
	}
	stopped, resumed := 0, 1+count["job.asked"]+count["job.called"]
	if s.Reason != "" {
		stopped, resumed = 1, 0
	}
	for kind, want := range map[string]int{
		"job.replied": count["job.asked"], "job.told": count["job.called"], "job.started": 1, "job.round": s.Rounds - count["job.judged"], "job.looked": s.Reads, "job.lost": s.Lost, "job.proposed": 1, "job.stopping": stopped, "job.resumed": resumed, "job.ended": 1,
	} {
		if count[kind] != want {
			wrong = append(wrong, fmt.Errorf("%s happened %d times, not %d", kind, count[kind], want))
		}
	}
	if n := len(s.Events); n == 0 || s.Events[0].Type != "job.started" || s.Events[n-1].Type != "job.ended" {
		wrong = append(wrong, errors.New("it did not begin with its start, or end with its end"))
	}
	return errors.Join(wrong...)
}

// checkCalls checks that the model was not asked again for an answer that was stored. A death loses at most one call.
func (s jobView) checkCalls(v *user, lost int) error {
	deaths, err := v.d.deathCount()
	asked := v.model.timesAsked(s.Prompt)
	if asked < s.Rounds || asked > s.Rounds+s.Lost || s.Lost < lost || s.Lost > lost+deaths {
		err = errors.Join(err, fmt.Errorf("the model was asked %d times in %d rounds; %d calls were lost, and there were %d deaths", asked, s.Rounds, s.Lost, deaths))
	}
	return err
}

// checkCost checks that the cost of the job is that of its calls, and that the usage of the account has as much.
func (s jobView) checkCost(v *user) error {
	sum := int64(0)
	for _, e := range s.Events {
		if e.Type == "job.round" || e.Type == "job.judged" || e.Type == "job.lost" {
			sum += e.Data.Cost
		}
	}
	used, err := v.client.usage("chat", v.chat)
	if err != nil {
		return err
	}
	concluded, err := v.client.usage("run", v.run) // the conclusion of its plan is no call of the job
	if err == nil && (s.Cost == 0 || sum != s.Cost || used-concluded != s.Cost) {
		err = fmt.Errorf("it cost %d, its events say %d, and the account was charged %d", s.Cost, sum, used-concluded)
	}
	return err
}

// usage returns the cost in the usage report of a group, in millionths of a US dollar.
func (c *client) usage(by, key string) (int64, error) {
	var report struct {
		Usage []struct {
			Key  string
			Cost int64 `json:"cost_micros"`
		}
	}
	r, err := c.get("/ai/usage?by=" + by)
	if err := errors.Join(err, json.Unmarshal(r.body, &report)); err != nil {
		return 0, err
	}
	for _, sum := range report.Usage {
		if sum.Key == key {
			return sum.Cost, nil
		}
	}
	return 0, nil
}

// checkChat checks that the prompt and the last message stand in the chat, once, and have the text of the job.
func (s jobView) checkChat(v *user) error {
	chat, err := v.client.get("/api/chats/" + v.chat + "/messages?limit=200")
	if err != nil {
		return err
	}
	var said struct {
		Messages []struct{ ID, Content string }
	}
	if err := json.Unmarshal(chat.body, &said); err != nil {
		return err
	}
	prompts, last := 0, []string{}
	for _, m := range said.Messages {
		switch m.ID {
		case v.job:
			prompts++
		case v.job + "#answer":
			last = append(last, m.Content)
		}
	}
	if prompts != 1 || len(last) != 1 || last[0] != s.Output || s.Output == "" {
		return fmt.Errorf("the prompt is %d times in the chat, and its last message is %q: %s", prompts, last, chat)
	}
	return nil
}

// checkNothingElse checks that the account has one job and one plan, and that nothing waits but a step in doubt.
func checkNothingElse(v *user) error {
	var wrong []error
	for _, list := range []string{"jobs", "runs"} {
		r, err := v.client.get("/api/" + list)
		wrong = append(wrong, err)
		if r.text(list+".0.chat_id") == "" || r.text(list+".1.chat_id") != "" {
			wrong = append(wrong, fmt.Errorf("there is not one of %s", r))
		}
	}
	r, err := v.client.get("/api/waiting")
	if kind := r.text("waiting.0.kind"); err == nil && (kind != "" && kind != "doubt" || r.text("waiting.1.kind") != "") {
		err = fmt.Errorf("this waits: %s", r)
	}
	return errors.Join(append(wrong, err)...)
}

// checkLook checks that the card of a turn that looked names the request that it made.
func checkLook(v *user) error {
	chat, err := v.client.get("/api/chats/" + v.chat + "/messages?limit=200")
	if err != nil {
		return err
	}
	var said struct {
		Messages []struct {
			Kind    string
			Sources []struct {
				Hash   string `json:"request_hash"`
				Answer string
			}
		}
	}
	if err := json.Unmarshal(chat.body, &said); err != nil {
		return err
	}
	for _, m := range said.Messages {
		if m.Kind == "plan" && len(m.Sources) == 1 && m.Sources[0].Hash != "" && strings.Contains(m.Sources[0].Answer, "norte") {
			return nil
		}
	}
	return fmt.Errorf("no card says what was read: %s", chat)
}
