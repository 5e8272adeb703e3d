package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piloto/infra/local/fixture"
	"piloto/internal/access/replay"
	"piloto/internal/ground/ids"
)

func claim(account ids.Account, holder string) replay.Claim {
	return replay.Claim{
		Account: account, Key: strings.Repeat("ab", 32), Fingerprint: "f", Ticket: replay.Ticket{ID: "t " + holder, At: now},
		Holder: holder, Until: now.Add(time.Minute), ExpiresAt: now.Add(time.Hour),
	}
}

// TestClaimsFollowTheirConditions walks one claim through its life, and
// compares the stored claim at each step.
func TestClaimsFollowTheirConditions(t *testing.T) {
	table := fixture.Table(t)
	there := func(step string, want replay.Claim) {
		t.Helper()
		got, err := table.Access.ClaimReplay(ctx, claim(want.Account, "looker"), now)
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%s: %v %s", step, err, d)
		}
	}
	one, two := claim("acme", "one"), claim("acme", "two")
	if got, err := table.Access.FinishReplay(ctx, one); err != nil || !cmp.Equal(got, replay.Claim{}) {
		t.Errorf("finished before it began: %+v %v", got, err)
	}
	if taken, err := table.Access.TakeReplay(ctx, one, ""); err != nil || taken {
		t.Errorf("taken from nobody: %v %v", taken, err)
	}
	for _, c := range []replay.Claim{one, claim("acme2", "theirs")} {
		if got, err := table.Access.ClaimReplay(ctx, c, now); err != nil || !cmp.Equal(got, c) {
			t.Errorf("%+v %v", got, err)
		}
	}
	there("claimed", one)
	if err := table.Access.FreeReplay(ctx, two); err != nil {
		t.Error(err)
	}
	there("freed by another", one)
	if taken, err := table.Access.TakeReplay(ctx, two, "somebody"); err != nil || taken {
		t.Errorf("%v %v", taken, err)
	}
	if err := table.Access.FreeReplay(ctx, one); err != nil {
		t.Error(err)
	}
	free := one
	free.Until = time.Time{}
	there("freed", free)
	two.Ticket = one.Ticket
	if taken, err := table.Access.TakeReplay(ctx, two, "one"); err != nil || !taken {
		t.Errorf("%v %v", taken, err)
	}
	there("taken", two)
	stranger := claim("acme", "two")
	if got, err := table.Access.FinishReplay(ctx, stranger); err != nil || !cmp.Equal(got, two) {
		t.Errorf("finished with another ticket: %+v %v", got, err)
	}
	one.Answer = []byte("\x00answer")
	done := one
	done.Done = true
	if got, err := table.Access.FinishReplay(ctx, one); err != nil || !cmp.Equal(got, done) {
		t.Errorf("%+v %v", got, err)
	}
	two.Answer = []byte("late")
	if got, err := table.Access.FinishReplay(ctx, two); err != nil || !cmp.Equal(got, done) {
		t.Errorf("finished twice: %+v %v", got, err)
	}
	if taken, err := table.Access.TakeReplay(ctx, two, "one"); err != nil || taken {
		t.Errorf("taken when it is done: %v %v", taken, err)
	}
	_ = table.Access.FreeReplay(ctx, one)
	there("done", done)
	next := claim("acme", "next")
	if got, err := table.Access.ClaimReplay(ctx, next, now.Add(time.Hour-time.Millisecond)); err != nil || !cmp.Equal(got, done) {
		t.Errorf("before it expires: %+v %v", got, err)
	}
	if got, err := table.Access.ClaimReplay(ctx, next, now.Add(time.Hour)); err != nil || !cmp.Equal(got, next) {
		t.Errorf("once it has: %+v %v", got, err)
	}
	there("another account's", claim("acme2", "theirs"))
}
