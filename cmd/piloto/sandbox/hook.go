package sandbox

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/workspace/ignore"
)

// Limits of a hook, in seconds.
const (
	defaultHookSeconds = 15
	maxHookSeconds     = 300
)

// ErrHook means that a hook of the configuration is wrong: Args["name"], and "why" as a fault.
var ErrHook = fault.New(fault.Invalid, "sandbox.hook")

// A Hook is a command that runs after a file was edited, such as a formatter.
type Hook struct {
	Name         string   `json:"name" yaml:"name"`
	Command      string   `json:"command" yaml:"command"`             // {file} stands for the name of the file
	FilePatterns []string `json:"file_patterns" yaml:"file_patterns"` // of which files; none means all
	TimeoutS     int      `json:"timeout_s" yaml:"timeout_s"`         // seconds, at most 300; 0 is 15
}

// Check returns ErrHook when the hook cannot be run as it is written.
func (h Hook) Check() error {
	wrong := ErrHook.With("name", h.Name)
	switch {
	case h.Name == "":
		return wrong.WithFault("why", fault.Reason("sandbox.hook.nameless"))
	case h.TimeoutS < 0 || h.TimeoutS > maxHookSeconds:
		return wrong.WithFault("why", fault.Reason("sandbox.hook.seconds").With("max", strconv.Itoa(maxHookSeconds)))
	}
	for _, pattern := range h.FilePatterns {
		if _, err := ignore.Glob(pattern); err != nil || pattern == "" {
			return wrong.WithFault("why", fault.Reason("sandbox.hook.pattern").With("pattern", pattern))
		}
	}
	if _, why := hookLine(h.Command); why != nil {
		return wrong.WithFault("why", why)
	}
	return nil
}

// Matches reports whether the hook is for a file, which is a slashed name below the workspace. A pattern is one of
// ignore.Glob; a wrong one matches nothing.
func (h Hook) Matches(file string) bool {
	return len(h.FilePatterns) == 0 || slices.ContainsFunc(h.FilePatterns, func(pattern string) bool {
		glob, err := ignore.Glob(pattern)
		return err == nil && glob.MatchString(file)
	})
}

// Run runs the hook for a file, and returns its result as a text for the model. It never fails: a missing program, a
// time-out or a panic is a text too. The base has the folder and the confinement of the hook; its line, arguments and
// time are not used.
func (h Hook) Run(ctx context.Context, base Command, file string) (outcome string) {
	tag := base.Language
	defer func() {
		if r := recover(); r != nil {
			outcome = h.notRun(tag, fmt.Sprint(r))
		}
	}()
	line, why := hookLine(h.Command)
	if why != nil {
		return h.notRun(tag, locale.OfFault(why).In(tag))
	}
	seconds := h.TimeoutS
	if seconds == 0 {
		seconds = defaultHookSeconds
	}
	if strings.HasPrefix(file, "-") {
		file = "./" + file // a program would read it as an option
	}
	c := base
	c.Line, c.Args, c.Dir, c.Timeout = line, []string{file}, "", time.Duration(min(seconds, maxHookSeconds))*time.Second
	r, err := Run(ctx, c)
	var head string
	switch {
	case err != nil:
		return h.notRun(tag, locale.OfFault(fault.Of(err)).In(tag))
	case r.TimedOut:
		head = locale.Text(tag, "sandbox.hook.late", "name", h.Name, "seconds", strconv.Itoa(seconds))
	case r.Code != 0:
		head = locale.Text(tag, "sandbox.hook.failed", "name", h.Name, "code", strconv.Itoa(r.Code))
	default:
		head = locale.Text(tag, "sandbox.hook.passed", "name", h.Name)
	}
	parts := append([]string{strings.TrimRight(head+"\n"+r.Output, "\n") + maskedNote(r.Secrets)}, append(r.Masks.Tell(tag), r.Masks.Explain(tag)...)...)
	return strings.Join(parts, "\n")
}

func (h Hook) notRun(tag locale.Tag, why string) string {
	return locale.Text(tag, "sandbox.hook.not_run", "name", h.Name, "why", why)
}

// AfterEdit runs, one after another, the hooks that are for a file, and returns their outcomes, or "" when none is.
func AfterEdit(ctx context.Context, hooks []Hook, base Command, file string) string {
	var outcomes []string
	for _, h := range hooks {
		if h.Matches(file) {
			outcomes = append(outcomes, h.Run(ctx, base, file))
		}
	}
	return strings.Join(outcomes, "\n")
}
