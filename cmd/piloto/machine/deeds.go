package machine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"piloto/internal/chats/job"
	"piloto/internal/ground/fault"
	"piloto/internal/workspace"
	"piloto/internal/workspace/filespec"
	"piloto/internal/workspace/filetool"
	"piloto/internal/workspace/mask"
	"piloto/internal/workspace/overlay"
)

// refusal is why a call is not made though it could be: one of job.Refused; "" when it is made.
type refusal job.Refused

// text returns the reason for the model, with the next action.
func (r refusal) text() string {
	switch job.Refused(r) {
	case job.RefusedNobody:
		return "it was not done: it needs a confirmation, and nobody is here who could confirm. Go on without it, and say in the end what is left to do"
	case job.RefusedUnanswered:
		return "it was not done: the person did not answer"
	case job.RefusedPerson:
		return "it was not done: the person refused it. Do not try the same again; ask what they want instead"
	case job.RefusedUnshown:
		return "it was not done: its content cannot be shown to the person, because it is binary or too long"
	case job.RefusedMasked:
		return "it was not run: " + mask.Mark + " stands for a secret that you were not shown, and a command that has it could write it over that secret. " +
			"Run a command without it; to change a file with such a line, change its other lines with edit_file"
	case job.RefusedPolicy:
		return "it was not run: only safe commands and the ones that the configuration lists are allowed here"
	}
	return "it was not done: the job was stopped"
}

// deedsOf returns the deeds of a call for the record.
func (m *Machine) deedsOf(c job.OpenCall, r result) []job.Deed {
	if r.did != nil {
		return r.did
	}
	d := job.Deed{Kind: m.kindOf(c), Name: objectOf(c), Failed: r.wrong != "", Masked: r.masked}
	d.Deleted = d.Kind == job.DeedChange && job.Deletes(c.Name, c.Arguments, d.Name)
	return []job.Deed{d}
}

func (m *Machine) kindOf(c job.OpenCall) job.DeedKind {
	if c.Name == runCommand.Name {
		return job.DeedCommand
	}
	for _, t := range m.direct.Tools() {
		if t.Name == c.Name && t.Class == filespec.Write {
			return job.DeedChange
		}
	}
	return job.DeedRead
}

// objectOf returns the object of a call, without its tool where it names a thing.
func objectOf(c job.OpenCall) string {
	object := c.Object()
	if _, about, ok := strings.Cut(object, " "); ok {
		return about
	}
	return object
}

// namesOf returns the names in the arguments of a call, each once, and at least one.
func namesOf(c job.OpenCall) []string {
	if names := job.Targets(c.Arguments); len(names) > 0 {
		return names
	}
	return []string{objectOf(c)}
}

// notBegun is the answer to a call that was not made because the job was stopped. A file that was not read is not on
// record.
func (m *Machine) notBegun(c job.OpenCall) result {
	r := result{wrong: refusal(job.RefusedStopped).text(), did: []job.Deed{}}
	if kind := m.kindOf(c); kind != job.DeedRead {
		for _, name := range namesOf(c) {
			r.did = append(r.did, job.Deed{Kind: kind, Name: name, Deleted: job.Deletes(c.Name, c.Arguments, name), Refused: job.RefusedStopped})
		}
	}
	return r
}

// unmade returns the changes that a tool did not make: refused because of their name, or failed. There is one for each file that the
// call names.
func (m *Machine) unmade(c job.OpenCall, r filetool.Result) (list []job.Deed) {
	names := namesOf(c)
	for _, name := range names {
		d, why := job.Deed{Kind: job.DeedChange, Name: name, Deleted: job.Deletes(c.Name, c.Arguments, name)}, r.Why
		if len(names) > 1 && why != filetool.WhyMasked && why != filetool.WhyShows { // it is why one of them was refused
			why = whyNot(m.shown.Check(name))
		}
		d.Refused = m.refusedFor(why, name)
		d.Failed = d.Refused == ""
		list = append(list, d)
	}
	return list
}

// unread returns the read that a tool did not make because of the name that the call has; nil when that is not why.
func (m *Machine) unread(c job.OpenCall, r filetool.Result) []job.Deed {
	var with struct {
		Path string `json:"path"`
	}
	_ = json.Unmarshal([]byte(c.Arguments), &with) // unreadable arguments name nothing
	name := path.Clean(with.Path)
	why := m.refusedFor(cmp.Or(r.Why, whyNot(m.shown.Check(name))), name)
	if r.OK || with.Path == "" || why == "" {
		return nil
	}
	return []job.Deed{{Kind: job.DeedRead, Name: objectOf(c), Refused: why}}
}

// refusedFor returns the record of a refused name or content; "" for any other reason.
func (m *Machine) refusedFor(why, name string) job.Refused {
	switch {
	case why == filetool.WhyMasked:
		return job.RefusedMasked
	case why == filetool.WhyShows:
		return job.RefusedHidden
	case why == "workspace.name.segment" && slices.Contains(strings.Split(name, "/"), ".."),
		why == "workspace.name.absolute" && name != m.Root && !strings.HasPrefix(name, m.Root+"/"):
		return job.RefusedOutside
	}
	return hidden[why]
}

// whyNot returns the code of the reason why a name is refused; "" when it is not.
func whyNot(err error) string {
	if err == nil {
		return ""
	}
	if why := fault.Of(err).Inner["why"]; why != nil {
		return why.Code
	}
	return ""
}

// hidden are why a file is neither read nor written whose name is hidden.
var hidden = map[string]job.Refused{
	"workspace.name.hidden": job.RefusedHidden, "workspace.name.git": job.RefusedGit, "workspace.name.own": job.RefusedOwn,
}

// edited has versions of a file that a tool changed; "": there is no such file.
type edited struct {
	before string // when the job began
	last   string // as the last deed of it says
}

// made returns the deed of a change, with the state of the file compared with the beginning of the job.
func (m *Machine) made(ctx context.Context, c overlay.Change) job.Deed {
	d := job.Deed{Kind: job.DeedChange, Name: c.Name, AllAdded: c.Added, AllRemoved: c.Removed, Made: c.Before == "", Deleted: c.After == "", Before: c.Before}
	if m.edited[c.Name] == nil {
		m.edited[c.Name] = &edited{c.Before, c.After}
	} else {
		d = m.became(ctx, c.Name, c.After)
	}
	d.Added, d.Removed = c.Added, c.Removed
	return d
}

// became returns the deed for a file that a tool changed, and that has a version now, compared with the beginning of the
// job.
func (m *Machine) became(ctx context.Context, name, now string) job.Deed {
	file := m.edited[name]
	file.last = now
	d := job.Deed{Kind: job.DeedChange, Name: name, Made: file.before == "", Deleted: now == "", Before: file.before, Same: now == file.before}
	if added, removed, err := m.since(ctx, overlay.Change{Name: name, After: now}, file.before); err == nil {
		d.AllAdded, d.AllRemoved = added, removed
	}
	return d
}

// mostAgain is the most that recheck adds to the deeds of a round, in bytes; a job takes 64 KB of all deeds.
const mostAgain = 24 << 10

// recheck adds to the deeds of a call the files that a tool changed before, and that a command or a hook changed since, if they
// fit. The others are reported with the next call that runs something.
func (m *Machine) recheck(ctx context.Context, did []job.Deed) []job.Deed {
	for _, name := range slices.Sorted(maps.Keys(m.edited)) {
		last := m.edited[name].last
		is, err := m.files.Stat(ctx, name)
		if err != nil && !errors.Is(err, workspace.ErrNotFound) || is.Version == last {
			continue
		}
		d := m.became(ctx, name, is.Version)
		raw, _ := json.Marshal(d) // it has strings, numbers and flags
		more := append(slices.Clone(did), d)
		if len(raw) > m.room || !job.DeedsFit(more) {
			m.edited[name].last = last
			break
		}
		did, m.room = more, m.room-len(raw)
	}
	return did
}

// since returns how many lines of a file came and went since it had a version; "": since it was not there.
func (m *Machine) since(ctx context.Context, c overlay.Change, before string) (added, removed int, err error) {
	back, err := m.Overlay()
	if err != nil {
		return 0, 0, err
	}
	if before == "" {
		if c.After != "" {
			err = back.Delete(ctx, c.Name, c.After)
		}
	} else {
		content, _, readErr := workspace.ReadAll(ctx, m.files, c.Name, before)
		if readErr != nil {
			return 0, 0, readErr
		}
		_, err = back.Write(ctx, c.Name, content, c.After)
	}
	removed, added = back.Changes().Lines() // it is the way back
	return added, removed, err
}
