package runs

import (
	"slices"
	"time"

	"piloto/internal/live/hook"
	"piloto/internal/runs/plan"
)

// notifications returns the messages to the account's hooks about a transition.
func (t *transition) notifications() ([]hook.Message, error) {
	fresh := map[plan.WaitKind][]plan.Wait{}
	was := t.from.Waits()
	for _, w := range t.next.Waits() {
		if t.apart || !slices.Contains(was, w) { // apart: it is new, and from is the draft itself
			fresh[w.Kind] = append(fresh[w.Kind], w)
		}
	}
	ended := t.next.Status.Terminal() && !t.from.Status.Terminal() && t.from.Status != plan.Draft
	var list []hook.Message
	for _, one := range []struct {
		event hook.Event
		is    bool
		waits []plan.Wait
	}{
		{hook.PlanProposed, t.apart && t.next.Status == plan.Draft, fresh[plan.WaitDraft]},
		{hook.RunWaiting, len(fresh[plan.WaitApproval]) > 0, fresh[plan.WaitApproval]},
		{hook.RunFinished, ended, nil},
		{hook.RunInDoubt, len(fresh[plan.WaitDoubt]) > 0, fresh[plan.WaitDoubt]},
	} {
		if one.is {
			m, err := hook.NewMessage(one.event, t.at, notificationData(t.next, one.waits))
			if err != nil {
				return nil, err
			}
			list = append(list, m)
		}
	}
	return list, nil
}

func notificationData(r plan.Run, waits []plan.Wait) hook.RunData {
	d := hook.RunData{
		RunID: r.ID, ChatID: r.ChatID, Status: string(r.Status), Goal: r.Plan.Goal, Digest: string(r.Digest), User: r.User, JobID: r.JobID,
		Path: hook.ChatPath(r.ChatID),
	}
	if r.Error != nil {
		d.Error = r.Error.Code
	}
	for _, w := range waits {
		if w.Kind != plan.WaitDraft {
			d.StepIDs = append(d.StepIDs, w.StepID.String())
		}
		if w.Kind == plan.WaitApproval {
			d.Approvals = append(d.Approvals, hook.ApprovalData{StepID: w.StepID.String(), Request: w.Request})
		}
		if due := w.Due.UTC().Format(time.RFC3339); !w.Due.IsZero() && (d.DueAt == "" || due < d.DueAt) {
			d.DueAt = due
		}
	}
	if len(d.Approvals) > 0 {
		d.Path = hook.ApprovalPath(r.ID, d.Approvals[0])
	}
	return d
}
