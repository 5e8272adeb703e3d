package machine

import (
	"fmt"
	"strings"

	"piloto/cmd/piloto/sandbox"
	"piloto/internal/chats/agent"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/clip"
	"piloto/internal/workspace/filespec"
)

// Tools returns the tools as a job is given them. Their descriptions say what asks in the mode of this machine.
func (m *Machine) Tools() []httpapi.ClientTool {
	var list []httpapi.ClientTool
	for _, t := range m.direct.Tools() {
		about := m.aboutRead(t.Name)
		if t.Class == filespec.Write {
			about = m.aboutWrite()
		}
		list = append(list, httpapi.ClientTool{Name: t.Name, Description: t.Description + about, Schema: t.Schema, Writes: t.Class == filespec.Write})
	}
	if m.Commands {
		list = append(list, httpapi.ClientTool{Name: runCommand.Name, Description: runCommand.About + m.aboutCommand(), Schema: runCommand.Schema(), Writes: true})
	}
	return list
}

// asked says what becomes of a call about which the person is asked.
func (m *Machine) asked(what string) string {
	if m.Ask == nil {
		return what + " would ask the person, and nobody is here: it is not done."
	}
	return what + " asks the person first, who sees it and may refuse."
}

func (m *Machine) aboutRead(tool string) string {
	switch {
	case m.Mode == agent.ConfirmAll:
		return " " + m.asked("Each call")
	case tool != filespec.ReadFile.Name:
		return ""
	case m.Mode == agent.Yolo:
		return " [redacted] stands for each secret."
	}
	return " " + m.asked("A part that shows a secret, and a file that usually has some,")
}

func (m *Machine) aboutWrite() string {
	if m.Mode == agent.Yolo {
		return " It is done at once."
	}
	return " " + m.asked("Each change")
}

// mostDev is how much of the commands of the configuration a description has, in characters.
const mostDev = 400

func (m *Machine) aboutCommand() string {
	where := "It has no network, an empty standard input and a time limit, and can write only in the folder"
	switch {
	case m.Unconfined:
		where = "It runs without a sandbox, with an empty standard input and a time limit"
	case len(m.Write) > 0:
		where += " and in those beside it that the person named"
	}
	return fmt.Sprintf(" %s. %s Of a long output the first %d and the last %d bytes are shown.", where, m.aboutAsked(), headBytes, tailBytes)
}

// aboutAsked says which commands run at once, which ask, and which are refused, as sandbox.Policy decides.
func (m *Machine) aboutAsked() string {
	others, safe, dev := sandbox.Ask, sandbox.Allow, sandbox.Ask
	if m.AllowedOnly {
		others = sandbox.Refuse
	}
	if m.Mode == agent.ConfirmAll {
		safe = sandbox.Ask
	}
	if m.Mode == agent.Yolo {
		dev = sandbox.Allow
	}
	name, text := "Each command", ""
	for _, c := range []struct {
		what    string
		verdict sandbox.Verdict
		has     bool
	}{
		{"A line that is known only to read, as with ls and cat, not with git or go,", safe, !m.Unconfined},
		{"What the person configured (" + clip.Runes(strings.Join(m.Dev, ", "), mostDev) + ")", dev, len(m.Dev) > 0},
	} {
		if c.has && c.verdict != others {
			name, text = "Any other", text+m.decided(c.what, c.verdict)+" "
		}
	}
	return text + m.decided(name, others)
}

// decided says what becomes of commands with a verdict.
func (m *Machine) decided(what string, v sandbox.Verdict) string {
	switch v {
	case sandbox.Allow:
		return what + " runs at once."
	case sandbox.Refuse:
		return what + " is refused."
	}
	return m.asked(what)
}
