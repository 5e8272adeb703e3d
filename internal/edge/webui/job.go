package webui

import (
	"context"
	"encoding/json"

	"piloto/internal/chats/job"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
)

// jobEvents is the number of events of a job that are read for its line.
const jobEvents = 500

// jobView is a job in its chat, below its prompt.
type jobView struct {
	ID    string
	Agent string
	Seq   int    // of its last event: the script replaces the line when it grew
	State string // of the icon, as of a step
	Says  string // its present activity, or how it ended
	Live  bool   // it can be stopped
	Asks  bool   // the next message answers it
	Dry   bool   // it proposes nothing
	Read  []conversation.Source
	Did   []string // its record: actions of its client, refusals, unknown outcomes
}

// jobReader reads jobs as lines of their chats; jobs is nil when there are none.
type jobReader struct{ jobs job.Reader }

// one reads a job. Its reads are shown while it goes on: afterwards its last message has them.
func (r jobReader) one(ctx context.Context, v visit, id string) (*jobView, error) {
	j, err := r.jobs.Job(ctx, v.who.Account, id)
	if err != nil {
		return nil, err
	}
	view := &jobView{
		ID: j.ID, Agent: plain(j.Agent), Seq: j.Events, State: jobState(j), Says: jobSays(j, v.tag), Live: !j.Status.Terminal() && j.StopAt.IsZero(), Asks: j.AsksPerson(), Dry: j.DryRun,
	}
	if j.StopAt.IsZero() && j.ClientSilent(job.Watch{Now: v.now}) {
		view.Says = locale.Text(v.tag, "page.job.gone", "at", j.SeenText())
	}
	for _, p := range j.Record.Phrases() {
		view.Did = append(view.Did, p.In(v.tag))
	}
	if j.Status.Terminal() {
		return view, nil
	}
	events, err := r.jobs.JobEvents(ctx, v.who.Account, id, max(0, j.Events-jobEvents), jobEvents)
	if err != nil {
		return nil, err
	}
	for _, e := range events {
		if e.Type != job.EventRead {
			continue
		}
		source := conversation.Source{At: e.At}
		if err := json.Unmarshal(e.Data, &source); err != nil {
			return nil, err
		}
		view.Read = append(view.Read, source)
	}
	return view, nil
}

func jobState(j job.Job) string {
	switch j.Status {
	case job.Running, job.Waiting:
		return string(j.Status)
	case job.Success:
		return "done"
	case job.Partial:
		return "in_doubt"
	}
	return "error"
}

// jobSays returns a job's present activity, or how it ended, and which calls of its model were lost.
func jobSays(j job.Job, tag locale.Tag) string {
	key, n := "page.job."+string(j.Status), j.Rounds
	switch {
	case !j.Status.Terminal() && !j.StopAt.IsZero():
		key = "page.job.stopping"
	case j.AsksPerson():
		key = "page.job.asks"
	case j.AwaitsClient():
		key = "page.job.client"
	case j.Status == job.Running:
		n++ // the one that goes on
	case j.Status == job.Partial && j.StopReason == "" && j.Record.Declined():
		key = "page.job.refused"
	case j.Status == job.Partial && j.StopReason == "" && len(j.Record.Refused) > 0:
		key = "page.job.undone"
	case j.Status == job.Partial && j.StopReason == "" && j.Record.Broken():
		key = "page.job.broken"
	case j.Status == job.Partial && j.StopReason == "":
		key = "page.job.unsure"
	}
	reason := ""
	if j.StopReason != "" {
		reason = locale.Text(tag, "job.stopped."+string(j.StopReason))
	}
	says := locale.Text(tag, key, "n", itoa(n), "reason", reason)
	if j.Lost > 0 {
		says += ". " + locale.Text(tag, "page.job.lost", "n", itoa(j.Lost))
	}
	return says
}

// of reads the jobs that the messages began. One that is gone leaves its message without a line.
func (r jobReader) of(ctx context.Context, v visit, messages []conversation.Message) (map[string]*jobView, error) {
	var ids []string
	for _, m := range messages {
		if r.jobs != nil && m.JobID != "" && m.JobID == m.ID { // others answer its question, or end it
			ids = append(ids, m.JobID)
		}
	}
	return readAll(ids, func(id string) (*jobView, error) { return r.one(ctx, v, id) })
}
