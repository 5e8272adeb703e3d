package turn

import (
	"context"
	"slices"
	"strconv"

	"piloto/internal/chats/job"
	"piloto/internal/chats/toolcall"
	"piloto/internal/chats/toolset"
	"piloto/internal/models/llm"
)

// dryRunResult returns the result of each proposal in a dry run, else "".
func (t terms) dryRunResult() string {
	if !t.dryRun {
		return ""
	}
	return `{"note":"this is a dry run: nothing is proposed. Say in your answer what you would propose"}`
}

// spec returns the tool with a name, of all, of the client or of files; nil when there is none.
func (t terms) spec(name string) *toolSpec {
	if spec := specOf(name); spec != nil {
		return spec
	}
	if spec := t.clientSpec(name); spec != nil {
		return spec
	}
	return fileSpec(name)
}

// clientSpec returns a tool of the client; nil when it has none of the name.
func (t terms) clientSpec(name string) *toolSpec {
	i := slices.IndexFunc(t.client, func(c job.Tool) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	c := t.client[i]
	spec := &toolSpec{Tool: llm.Tool{Name: c.Name, Description: c.Description, Parameters: c.Schema}, class: toolset.ClassRead, do: doClient}
	if c.Writes {
		spec.class = toolset.ClassWrite
	}
	return spec
}

// clientTools returns the tools of the client that an agent may use.
func (t terms) clientTools(a actor) (list []llm.Tool) {
	for _, c := range t.client {
		if spec := t.clientSpec(c.Name); toolset.Allows(a.MayUse, spec.Name, spec.class) {
			list = append(list, spec.Tool)
		}
	}
	return list
}

// doClient leaves a call to the client. In a dry run nothing is written there.
func doClient(_ context.Context, l *loop, c toolCall) (string, error) {
	if early := l.terms.dryRunResult(); early != "" && l.terms.clientSpec(c.name).class == toolset.ClassWrite {
		return early, nil
	}
	c.batch.open = append(c.batch.open, job.OpenCall{ID: strconv.Itoa(c.at), Name: c.name, Arguments: string(c.raw)})
	return "", nil
}

// leaveToClient decides the rest of a reply whose calls the client answers: nothing is proposed or asked beside them,
// because their answers may change it.
func (b *batch) leaveToClient(results []string) {
	if len(b.open) == 0 {
		return
	}
	if !job.FitsArguments(b.open) {
		for _, c := range b.open {
			results[indexOf(c)] = toolcall.Error("", "the arguments of this reply are too long: write less in one reply, such as one part of a file after the other")
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
}

// indexOf returns the index of a call in its reply.
func indexOf(c job.OpenCall) int {
	at, _ := strconv.Atoi(c.ID) // doClient wrote it
	return at
}

// fileSpec returns a file tool; nil when there is none of the name.
func fileSpec(name string) *toolSpec {
	switch class := toolset.ClassOf(name); {
	case name == toolset.Apply:
		return &applySpec
	case class == "" || toolset.OfServices(name):
		return nil
	default:
		return &toolSpec{Tool: llm.Tool{Name: name}, class: class, do: doFile}
	}
}
