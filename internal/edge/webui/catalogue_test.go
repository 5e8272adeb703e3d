package webui

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"piloto/internal/chats/agent"
	"piloto/internal/chats/job"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/ref"
	"piloto/internal/live/hook"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/receipt"
	"piloto/internal/runs/rule"
	"piloto/internal/tools/tool"
)

// families are the keys that end in a value.
func families() map[string][]string {
	f := map[string][]string{
		"page.risk.":   {string(plan.Read), string(plan.Write), string(plan.Destructive)},
		"page.dead.":   {string(plan.Cancelled), string(plan.Expired), string(plan.Superseded)},
		"page.state.":  {string(plan.StepRunning), string(plan.StepDone), string(plan.StepFailed), string(plan.StepInDoubt), string(plan.StepCancelled), string(plan.StepPending), string(plan.StepWaiting), string(plan.StepSkipped)},
		"page.server.": {"online", "offline"},
		"page.theme.":  {"light", "dark"},
	}
	for _, tag := range locale.Tags() {
		f["page.language."] = append(f["page.language."], string(tag))
	}
	for _, e := range hook.Events {
		f["page.hook.event."] = append(f["page.hook.event."], string(e))
	}
	f["page.hook.off."] = []string{hook.OffByPerson, hook.OffGone, hook.OffFailing}
	f["page.hook.state."] = []string{string(hook.Pending), string(hook.Delivered), string(hook.Failed)}
	f["page.hook.error."] = []string{"target", "dns", "refused", "tls", "timeout", "cancelled", "reset", "protocol", "off"}
	f["page.undone."] = f["page.state."]
	f["page.undone_by."] = []string{reversalAsked, reversalRunning, reversalDoubt, reversalDone, reversalPartly}
	f["page.approval."] = []string{"open", "expired", string(plan.Approved), string(plan.Refused)}
	f["page.resolved."] = []string{string(plan.OutcomeDone), string(plan.OutcomeNotDone), string(plan.OutcomeRetry)}
	f["page.when."] = []string{
		string(ref.Equal), string(ref.NotEqual), string(ref.Less), string(ref.AtMost), string(ref.More), string(ref.AtLeast), string(ref.Present), string(ref.Absent),
	}
	f["page.rule."] = []string{string(rule.Allow), string(rule.Ask), string(rule.Deny)}
	f["page.rule.effect."] = f["page.rule."]
	f["page.field."] = []string{
		"goal", "title", "server", "mcp_id", "tool", "method", "path", "query", "body", "needs", "risk", "when", "for_each", "undo", "no_undo", "verify", "ask", "targets", "unanswered",
		"step", "binding", "ceiling", "reuse", "undoes", "plan",
	}
	for _, r := range eligibility.Swappable() {
		f["page.by."] = append(f["page.by."], string(r))
		f["page.why."] = append(f["page.why."], string(r))
	}
	f["page.mode."] = []string{string(eligibility.Automatic), string(eligibility.Manual), string(eligibility.Off)}
	f["page.scope."] = []string{string(eligibility.ScopeDeployment), string(eligibility.ScopeAccount), string(eligibility.ScopeProject)}
	f["page.check."] = []string{string(eligibility.CheckRunning), string(eligibility.CheckDone), string(eligibility.CheckFailed)}
	f["page.check.call."] = []string{"text", "tool", "two_tools", "structured", "stream"}
	f["page.provider."] = []string{"demo", "keyless", "own", "missing", "deployment"}
	f["page.entry."] = []string{string(credit.KindGrant), string(credit.KindAdjustment), string(credit.KindRefund), string(credit.KindSession)}
	for _, by := range []credit.By{credit.ByDay, credit.ByChat, credit.ByModel} {
		f["page.usage.by."] = append(f["page.usage.by."], string(by))
		f["page.usage.of."] = append(f["page.usage.of."], string(by))
	}
	f["page.js.ai_"] = []string{"ok", "down", "unconfigured", "disabled", "not_entitled", "unknown", "checked", "no_api_key", "rate_limited", "provider_refused"}
	f["page.js.outcome_"] = []string{"ok", "stopped", "no_api_key", "rate_limited", "provider_unreachable", "provider_refused"}
	f["page.js.bad_"] = []string{
		"out_of_range", "missing", "unknown_provider", "duplicate", "string_too_short", "string_too_long", "too_long", "enum",
		"string_pattern_mismatch", "extra_forbidden", "greater_than_equal", "less_than_equal", "int_parsing", "float_parsing", "value_error",
		"glob", "only_ask", "not_allow", "decimal", "place",
	}
	f["page.server.hint."] = []string{"destructive", "writes", "reads", "outside", "repeatable", "nothing"}
	f["page.server.transport."] = []string{string(tool.TransportStreamable), string(tool.TransportSSE)}
	f["page.part."] = []string{"image", "audio", "resource", "resource_link", "data", "other"}
	for _, p := range []agent.Phase{agent.Closed, agent.Open, agent.HalfOpen} {
		f["page.agent."] = append(f["page.agent."], p.String())
		if p != agent.Closed {
			f["page.agent."] = append(f["page.agent."], p.String()+".text")
		}
	}
	for _, s := range plan.Statuses() {
		f["page.status."] = append(f["page.status."], string(s))
	}
	for _, family := range []string{"page.status.", "page.dead."} { // of a draft that the model took back
		f[family] = append(f[family], "withdrawn")
	}
	for _, k := range []plan.WaitKind{plan.WaitDraft, plan.WaitApproval, plan.WaitDoubt, plan.WaitJob} {
		f["page.wait."] = append(f["page.wait."], string(k))
	}
	for _, s := range []job.Status{job.Running, job.Waiting, job.Success, job.Partial, job.Failed} {
		f["page.job."] = append(f["page.job."], string(s))
	}
	f["page.event."] = []string{
		plan.EventProposed, plan.EventConfirmed, plan.EventCancelled, plan.EventExpired, plan.EventSuperseded, plan.EventStarted, plan.EventStopping,
		plan.EventFinished, plan.EventStepStart, plan.EventStepRetry, plan.EventStepWait, plan.EventStepDone, plan.EventStepFailed, plan.EventStepDoubt,
		plan.EventRevised, plan.EventRead, plan.EventUndoing, plan.EventRetried, plan.EventReversed, plan.EventStepSkipped, plan.EventStepExpanded,
		"run.withdrawn", plan.EventStepAsked, plan.EventStepApproved, plan.EventStepRefused, plan.EventStepChecked, plan.EventStepResolved, plan.EventStepReasoned,
	}
	f["page.receipt.unsigned."] = []string{receipt.NotEnded, receipt.Pending}
	for _, k := range []string{"not_found", "signed_out", "forbidden", "too_many", "unavailable", "internal"} {
		f["page.error."] = append(f["page.error."], k, k+".do")
	}
	return f
}

// TestTheCatalogueMatchesThePage: every text that the page uses exists, and every text is used.
func TestTheCatalogueMatchesThePage(t *testing.T) {
	used := map[string]bool{}
	for prefix, values := range families() {
		for _, v := range values {
			used[prefix+v] = true
		}
	}
	key := regexp.MustCompile(`"(page\.[a-z_.]+)"`)
	script := regexp.MustCompile(`\bt\(\s*(?:[a-z.]+ \? "([a-z_]+)" : )?"([a-z_]+)"`)
	err := fs.WalkDir(os.DirFS("."), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "testdata") {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range key.FindAllStringSubmatch(string(raw), -1) {
			if _, family := families()[m[1]]; !family && m[1] != scriptTexts && m[1] != errNotFound.Code {
				used[m[1]] = true
			}
		}
		if strings.HasSuffix(path, ".js") {
			for _, m := range script.FindAllStringSubmatch(string(raw), -1) {
				for _, name := range m[1:] {
					if name != "" {
						used[scriptTexts+name] = true
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for k := range used {
		if _, ok := locale.Lookup(locale.Spanish, k); !ok {
			t.Errorf("%s is used and does not exist", k)
		}
	}
	for _, k := range locale.Keys("page.") {
		if !used[k] {
			t.Errorf("%s exists and is not used", k)
		}
	}
}

func TestScriptsHoldNoMarkupAndNoForeignAddress(t *testing.T) {
	bad := regexp.MustCompile(`innerHTML\s*=|outerHTML\s*=|insertAdjacentHTML|document\.write|eval\(|new Function|https?://(?:[^w]|w[^w])`)
	err := filepath.WalkDir("asset", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".js") {
			return err
		}
		raw, err := os.ReadFile(path)
		if m := bad.Find(raw); m != nil {
			t.Errorf("%s holds %q", path, m)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
