package turn

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"piloto/internal/chats/job"
	"piloto/internal/chats/toolcall"
	"piloto/internal/models/llm"
)

// clientSpec returns a tool of the job's client; nil when it has none of the name.
func (d *dialog) clientSpec(name string) *toolSpec {
	if d.job == nil {
		return nil
	}
	i := slices.IndexFunc(d.job.Tools, func(t job.Tool) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	t := d.job.Tools[i]
	spec := &toolSpec{Tool: llm.Tool{Name: t.Name, Description: t.Description, Parameters: t.Schema}, class: classLook, do: doClient}
	if t.Writes {
		spec.class = classWrite
	}
	return spec
}

// clientTools returns the tools of the job's client that its agent may use. An agent that lists names of other tools has
// those that read when it may look, and those that write when it may propose.
func (d *dialog) clientTools() (list []llm.Tool) {
	if d.job == nil {
		return nil
	}
	for _, t := range d.job.Tools {
		needs := toolLook
		if t.Writes {
			needs = toolRequest
		}
		if d.agent.MayUse(t.Name) || d.agent.MayUse(needs) {
			list = append(list, d.clientSpec(t.Name).Tool)
		}
	}
	return list
}

// doClient leaves a call to the client. In a dry run nothing is written there.
func doClient(_ context.Context, d *dialog, c toolCall) (string, error) {
	if early := d.dryRun(); early != "" && d.clientSpec(c.name).class == classWrite {
		return early, nil
	}
	c.batch.open = append(c.batch.open, job.OpenCall{ID: strconv.Itoa(c.at), Name: c.name, Arguments: string(c.raw)})
	return "", nil
}

// leaveToClient settles what else a reply asks for whose calls the client answers: nothing is proposed or asked beside
// them, because their answers may change it.
func (d *dialog) leaveToClient(b *batch, results []string) {
	if len(b.open) == 0 {
		return
	}
	if !job.FitsArguments(b.open) {
		for _, c := range b.open {
			results[placeOf(c)] = toolcall.Error("", "the arguments of this reply are too long: write less in one reply, such as one part of a file after the other")
		}
		b.open = nil
		return
	}
	if b.question != nil {
		results[b.question.at] = toolcall.Error("", "it was not asked: ask when the other calls of this reply are answered")
		b.question = nil
	}
	if b.proposals.Any() {
		b.proposals.Early = toolcall.Error("", "nothing was proposed: propose when the other calls of this reply are answered")
	}
	d.left = b.open
}

// placeOf returns the place of a call in its reply.
func placeOf(c job.OpenCall) int {
	at, _ := strconv.Atoi(c.ID) // doClient wrote it
	return at
}

// isLeft reports whether somebody else answers a call of a reply: the person, or the client.
func (d *dialog) isLeft(at int) bool {
	return d.question != nil && d.question.at == at || slices.ContainsFunc(d.left, func(c job.OpenCall) bool { return placeOf(c) == at })
}

// openCalls returns the calls of a round that the client answers, with ids of the job.
func (w *work) openCalls(r *job.Round) (list []job.OpenCall) {
	for _, c := range w.left {
		c.ID = strconv.Itoa(r.N) + "." + c.ID
		list = append(list, c)
	}
	return list
}

// told puts the client's answers into the results of the round; "" while some are missing. What it answered was read on
// its machine, so it may not go into a read of a service unseen.
func (w *work) told() (told string, data map[string]any, err error) {
	if len(w.job.OpenCalls()) > 0 {
		return "", nil, nil
	}
	r := w.last()
	for _, t := range w.job.Told {
		for i := range r.Results {
			if t.ID != strconv.Itoa(r.N)+"."+strconv.Itoa(i) {
				continue
			}
			if r.Results[i] = cmp.Or(t.Output, "{}"); t.Did == nil {
				continue
			}
			if r.Did == nil {
				r.Did = make([][]job.Deed, len(r.Results))
			}
			r.Did[i] = t.Did
		}
	}
	w.addCircles(job.MachineCircle)
	return "{}", map[string]any{"calls": openNames(w.job.Open)}, nil // the result of a call with an empty answer
}

func openObjects(calls []job.OpenCall) []string {
	objects := make([]string, len(calls))
	for i, c := range calls {
		objects[i] = c.Object()
	}
	return objects
}

func openNames(calls []job.OpenCall) []string {
	names := make([]string, len(calls))
	for i, c := range calls {
		names[i] = c.Name
	}
	return names
}
