package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"localaws/disk"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"

	"piloto/infra/local/fixture"
	"piloto/internal/access/auth"
	"piloto/internal/chats/agent"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
	"piloto/internal/store"
	"piloto/internal/store/kv"
)

// openAt opens a data folder with a clock that stands.
func openAt(t *testing.T, folder string, at time.Time) (*Process, error) {
	t.Helper()
	return Open(t.Context(), Options{
		Data: folder, Template: "../../../template.yaml", Log: io.Discard, Clock: func() time.Time { return at },
	}, Settings{}, "http://127.0.0.1:1")
}

// fill writes rows of every store, and leaves a draft, a queued run, a run whose step was being
// sent, a wave of which one effect was done and one was being sent, a run that waits for an approval, and one
// that ended.
func fill(t *testing.T, all store.Stores) {
	t.Helper()
	ctx := context.Background()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	w := fixture.NewWorldOver(t, all)
	must(all.Runs.SetRules(ctx, fixture.Account, 0, rule.Set{
		Rules: []rule.Rule{{ID: "r", Effect: rule.Ask, Method: "DELETE", Minutes: 24 * 60, Reason: "Borra una reserva"}}, By: "ana", UpdatedAt: fixture.Epoch,
	}))
	confirmed := func(calls ...fixture.Call) plan.Run {
		w.Chat = w.NewChat()
		r := w.Propose(calls...)
		must(w.Confirm(r))
		return r
	}
	w.Execute(confirmed(fixture.To("POST", "/bookings", `{"room":"ended"}`)).ID)
	w.Execute(confirmed(fixture.To("DELETE", "/bookings/1", "")).ID)
	confirmed(fixture.To("POST", "/bookings", `{"room":"queued"}`))
	lost := confirmed(fixture.To("POST", "/bookings", `{"room":"sent"}`))
	w.LoseProcess(lost.ID, 0)
	w.Chat = w.NewChat()
	none := &[]string{}
	wave := w.Draft(plan.Proposal{Goal: "Reservar", Steps: []plan.ProposedStep{
		{Title: "POST /bookings", Method: "POST", Path: "/bookings", Body: json.RawMessage(`{"room":"first"}`), Needs: none},
		{Title: "POST /bookings", Method: "POST", Path: "/bookings", Body: json.RawMessage(`{"room":"second"}`), Needs: none},
		{Title: "POST /bookings", Method: "POST", Path: "/bookings", Body: json.RawMessage(`{"room":"third"}`), Needs: none},
	}})
	must(w.Confirm(wave))
	w.LoseProcess(wave.ID, 1)
	w.Chat = w.NewChat()
	w.Propose(fixture.To("GET", "/rooms", ""))

	must(all.Access.PutToken(ctx, auth.Token{Hash: "hash", Kind: auth.KindToken, Account: fixture.Account, User: "ana", Scopes: []auth.Scope{auth.ScopeAdmin}, CreatedAt: fixture.Epoch}))
	must(all.Access.CreateWebhook(ctx, auth.Webhook{ID: "hook", Account: fixture.Account, User: "ana", Name: "n8n", CreatedAt: fixture.Epoch}))
	must(all.Settings.PutAssistant(ctx, fixture.Account, "", *fixture.Assistant("openai", "m")))
	must(all.Settings.PutHealth(ctx, fixture.Account, eligibility.Health{Provider: "openai", At: fixture.Epoch, Outcome: "ok"}))
	must(all.Router.PutRouterSettings(ctx, fixture.Account, 7, agent.Settings{}))
	must(all.Router.Remember(ctx, fixture.Account, agent.Memory{Company: 7, Session: "s", UpdatedAt: fixture.Epoch, ExpiresAt: fixture.Epoch.Add(agent.MemoryLife)},
		agent.Exchange{ID: "m", User: "hola", Agent: "ventas", Response: "buenas", At: fixture.Epoch}))
	must(all.Wallet.Move(ctx, fixture.Account, credit.Entry{ID: w.IDs.New(fixture.Epoch), Kind: credit.KindGrant, Amount: 5, Actor: "ana", Reason: "test", At: fixture.Epoch, Key: "k"}))
	session := credit.Session{ID: "session", Cost: 1, Tokens: 1000, Free: 1000, OpenedAt: fixture.Epoch, ExpiresAt: fixture.Epoch.Add(24 * time.Hour)}
	must(all.Wallet.BuySession(ctx, fixture.Account, session, credit.Entry{
		ID: session.ID, Kind: credit.KindSession, Amount: -1, Actor: "ana", Reason: "test", SessionID: session.ID, At: fixture.Epoch, Until: session.ExpiresAt,
	}))
	must(all.Wallet.Reserve(ctx, credit.Hold{
		ID: "held", Account: fixture.Account, Nonce: "n", Version: 1, Micros: 7_000, At: fixture.Epoch, Deadline: fixture.Epoch.Add(2 * time.Minute),
		Parts: []credit.Part{{SessionID: session.ID, Tokens: 400}},
	}, credit.Limits{Day: 10_000}))
}

// readAll reads the rows of a filled folder, as JSON.
func readAll(t *testing.T, all store.Stores) string {
	t.Helper()
	ctx := context.Background()
	list := map[string]any{}
	note := func(name string, v any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(name, err)
		}
		list[name] = v
	}
	chats, _, err := all.Chats.Chats(ctx, fixture.Account, conversation.ChatFilter{}, "", 50)
	note("chats", chats, err)
	for _, c := range chats {
		messages, _, err := all.Chats.Messages(ctx, conversation.Key{Account: fixture.Account, ChatID: c.ID}, "", 50)
		note("messages of "+c.ID, messages, err)
		for _, id := range []string{c.PendingRunID, c.ActiveRunID, c.LastRunID} {
			if id == "" {
				continue
			}
			r, err := all.Runs.Run(ctx, fixture.Account, id)
			note("run "+id, r, err)
			events, err := all.Runs.Events(ctx, fixture.Account, id, 0, 50)
			note("events of "+id, events, err)
			revisions, err := all.Runs.Revisions(ctx, r)
			note("revisions of "+id, revisions, err)
		}
	}
	servers, err := all.Registry.Servers(ctx, fixture.Account)
	note("servers", servers, err)
	for _, s := range servers {
		entries, err := all.Registry.Entries(ctx, fixture.Account, s)
		note("allowlist", entries, err)
	}
	token, err := all.Access.Token(ctx, "hash")
	note("token", token, err)
	webhooks, err := all.Access.Webhooks(ctx, fixture.Account)
	note("webhooks", webhooks, err)
	rules, err := all.Runs.Rules(ctx, fixture.Account)
	note("rules", rules, err)
	settings, err := all.Settings.Settings(ctx, fixture.Account)
	note("settings", settings, err)
	memory, err := all.Router.Memory(ctx, fixture.Account, 7, "s", fixture.Epoch)
	note("memory", memory, err)
	standing, err := all.Wallet.Standing(ctx, fixture.Account, fixture.Epoch)
	note("standing", standing, err)
	entry, err := all.Wallet.EntryOf(ctx, fixture.Account, "k")
	note("entry", entry, err)
	raw, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw) + "\n"
}

// TestARestoredFolderIsReadAndItsRunsGoOn backs a folder up and restores it. Its rows are read as they were. A queued run
// and a run whose request was being sent end; that request is not sent again, because nobody knows whether it was applied.
func TestARestoredFolderIsReadAndItsRunsGoOn(t *testing.T) {
	p, err := openAt(t, filepath.Join(t.TempDir(), "data"), fixture.Epoch)
	if err != nil {
		t.Fatal(err)
	}
	all := p.Stores
	fill(t, all)
	want := readAll(t, all)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	folder, kept := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "backup")
	if err := backup(t.Context(), p.Data, kept); err != nil {
		t.Fatal(err)
	}
	if err := restore(t.Context(), kept, folder); err != nil {
		t.Fatal(err)
	}
	if p, err = openAt(t, folder, fixture.Epoch.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	all = p.Stores
	if d := cmp.Diff(want, readAll(t, all)); d != "" {
		t.Fatalf("the rows are read as others (-then +now):\n%s", d)
	}
	if kinds := listedWaits(t, all); kinds[plan.WaitDraft] != 1 || kinds[plan.WaitApproval] != 1 {
		t.Errorf("before anything is written again %v wait", kinds)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	if err := p.Start(ctx); err != nil {
		t.Fatal(err)
	}
	chats, _, err := all.Chats.Chats(ctx, fixture.Account, conversation.ChatFilter{}, "", 50)
	if err != nil {
		t.Fatal(err)
	}
	got := map[plan.Status]int{}
	for _, c := range chats {
		for _, id := range []string{c.PendingRunID, c.ActiveRunID, c.LastRunID} {
			if id != "" {
				r := settled(t, all, id)
				got[r.Status]++
				if st := r.Steps[0]; strings.Contains(string(st.Last.Body), "sent") && (st.Attempts != 1 || st.Status != plan.StepInDoubt) {
					t.Errorf("the request that was being sent: %+v", st)
				}
				waveGoesOn(t, all, r)
			}
		}
	}
	releasedAfter(t, all)
	listedWaits(t, all)
	if d := cmp.Diff(map[plan.Status]int{plan.Draft: 1, plan.Waiting: 1, plan.Done: 1, plan.Failed: 1, plan.InDoubt: 2}, got); d != "" {
		t.Error(d)
	}
}

// waveGoesOn checks the run whose effects were handed out: what was done stays done, what was being sent is in doubt,
// what had not begun was tried, and all of it is in its events.
func waveGoesOn(t *testing.T, all store.Stores, r plan.Run) {
	t.Helper()
	if len(r.Plan.Steps) != 3 {
		return
	}
	var got []string
	for _, st := range r.Steps {
		got = append(got, fmt.Sprint(st.Status, " ", st.Attempts, " ", st.Handed != ""))
	}
	if d := cmp.Diff([]string{"done 1 false", "in_doubt 1 false", "error 4 false"}, got); d != "" {
		t.Errorf("the wave: %s", d)
	}
	events, err := all.Runs.Events(t.Context(), fixture.Account, r.ID, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for i, e := range events {
		if e.Seq != i+1 {
			t.Errorf("event %d has number %d", i+1, e.Seq)
		}
		kinds[e.Type+" "+e.StepID.String()]++
	}
	for _, one := range []string{"step.started s1", "step.done s1", "step.started s2", "step.in_doubt s2", "step.started s3", "step.failed s3"} {
		if kinds[one] != 1 {
			t.Errorf("%d events %s", kinds[one], one)
		}
	}
}

// releasedAfter waits until the sweep has given back what the turn held that died with the process.
func releasedAfter(t *testing.T, all store.Stores) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		s, err := all.Wallet.Standing(t.Context(), fixture.Account, fixture.Epoch)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Sessions) == 1 && s.Sessions[0].Free == 1000 && s.Day == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the hold is not released: %+v", s)
		}
	}
}

// settled waits until a run does nothing more by itself.
func settled(t *testing.T, all store.Stores, id string) plan.Run {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		r, err := all.Runs.Run(t.Context(), fixture.Account, id)
		if err != nil {
			t.Fatal(err)
		}
		if r.Status.Terminal() || r.Status == plan.Draft || r.Status == plan.Waiting {
			return r
		}
		if time.Now().After(end) {
			t.Fatalf("run %s is %s", id, r.Status)
		}
	}
}

// TestFoldersOfOtherFormatsAreRefused: an older one, a newer one, and one that says none. The sentence says what to do, in
// both languages, and nothing in the folder is changed.
func TestFoldersOfOtherFormatsAreRefused(t *testing.T) {
	formatted := func(n int) kv.Item {
		row := kv.Key{PK: "FORMAT", SK: "FORMAT"}.Item()
		row["format"] = kv.N(int64(n))
		return row
	}
	for name, c := range map[string]struct {
		row  kv.Item // nil: none says a format
		says string
	}{
		"the one before":   {formatted(kv.Format - 1), "earlier version of Piloto"},
		"the first":        {formatted(1), "earlier version of Piloto"},
		"none":             {nil, "earlier version of Piloto"},
		"the one after":    {formatted(kv.Format + 1), "later version of Piloto"},
		"one far from now": {formatted(1 << 30), "later version of Piloto"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "data")
			p, err := openAt(t, folder, fixture.Epoch)
			if err != nil {
				t.Fatal(err)
			}
			fill(t, p.Stores)
			db, table := dynamodb.NewFromConfig(p.clientConfig()), p.table()
			if c.row == nil {
				_, err = db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &table, Key: kv.Key{PK: "FORMAT", SK: "FORMAT"}.Item()})
			} else {
				_, err = db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: c.row})
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			before := contents(t, folder)
			for range 2 {
				if p, err = openAt(t, folder, fixture.Epoch.Add(time.Hour)); err == nil {
					t.Fatal("it was opened", p.Close())
				}
				if !strings.Contains(said(err), c.says) || !strings.Contains(said(err), "mv "+shellWord(folder)) || !strings.Contains(said(err), "start the version") {
					t.Errorf("%v", err)
				}
				if d := cmp.Diff(before, contents(t, folder)); d != "" {
					t.Errorf("the folder was changed: %s", d)
				}
			}
		})
	}
}

// TestARefusedFolderIsNotTouched: neither by a start long after its objects expired, nor by a command, whether its process was
// stopped or killed.
func TestARefusedFolderIsNotTouched(t *testing.T) {
	stopped, killed := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "data")
	p, err := openAt(t, stopped, fixture.Epoch)
	if err != nil {
		t.Fatal(err)
	}
	objects, bucket, key := s3.NewFromConfig(p.clientConfig(), func(o *s3.Options) { o.UsePathStyle = true }), p.names["FilesBucket"], "a"
	for _, text := range []string{"the first", "the second"} {
		if _, err := objects.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader(text)}); err != nil {
			t.Fatal(err)
		}
	}
	later, table := kv.Key{PK: "FORMAT", SK: "FORMAT"}.Item(), p.table()
	later["format"] = kv.N(kv.Format + 1)
	if _, err := dynamodb.NewFromConfig(p.clientConfig()).PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: later}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(stopped, objectsFolder, "unknown"), []byte("of the later version"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(stopped, "control.sock")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(killed, os.DirFS(stopped)); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(killed, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "backup")
	if err := backup(t.Context(), stopped, file); err != nil {
		t.Fatal(err)
	}
	if err := restore(t.Context(), file, filepath.Join(t.TempDir(), "new")); err == nil || !strings.Contains(said(err), "later version of Piloto") {
		t.Errorf("restored: %v", err)
	}
	for _, folder := range []string{stopped, killed} {
		before := contents(t, folder)
		p, startErr := openAt(t, folder, fixture.Epoch.Add(60*24*time.Hour))
		if startErr == nil {
			t.Fatal("it was opened", p.Close())
		}
		for _, err := range []error{startErr, rotateKey(folder), CheckFormat(t.Context(), folder)} {
			if err == nil || !strings.Contains(said(err), "later version of Piloto") {
				t.Errorf("%s: %v", folder, err)
			}
		}
		if d := cmp.Diff(before, contents(t, folder)); d != "" {
			t.Errorf("the folder was changed: %s", d)
		}
	}
}

// TestAFolderThatIsHeldIsNotTakenForOneOfThisFormat: it may be of another one when its process lets it go.
func TestAFolderThatIsHeldIsNotTakenForOneOfThisFormat(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	p, err := openAt(t, folder, fixture.Epoch)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := checkTable(t.Context(), folder, p.table()); !errors.Is(err, disk.ErrHeld) {
		t.Errorf("a start goes on: %v", err)
	}
	if _, err := openAt(t, folder, fixture.Epoch); said(err) != said(refusal("up.held", "folder", folder, "pid", fmt.Sprint(os.Getpid()))) {
		t.Errorf("a start says %v", said(err))
	}
	if err := rotateKey(folder); err == nil {
		t.Error("the key of a process was replaced")
	}
	if err := CheckFormat(t.Context(), folder); err != nil {
		t.Errorf("a check says %v", said(err))
	}
}

// contents returns the SHA-256 of each file of a folder.
func contents(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	if err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, folder)] = ids.Hash(string(raw))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return files
}

// listedWaits compares the list of what waits with the runs themselves, and returns how many there are of each kind.
func listedWaits(t *testing.T, all store.Stores) map[plan.WaitKind]int {
	t.Helper()
	heads, _, err := all.Runs.Runs(t.Context(), fixture.Account, plan.Filter{}, "", 200)
	if err != nil || len(heads) < 5 {
		t.Fatalf("%d runs are listed: %v", len(heads), err)
	}
	want, got, kinds := []string{}, []string{}, map[plan.WaitKind]int{}
	for _, h := range heads {
		r, err := all.Runs.Run(t.Context(), fixture.Account, h.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range r.Waits() {
			want = append(want, r.ID+" "+string(w.Kind)+" "+w.StepID.String())
			kinds[w.Kind]++
		}
		if h.Done != r.DoneSteps() && !r.HandedOut() {
			t.Errorf("%s: %d steps are done, and the list has %d", r.ID, r.DoneSteps(), h.Done)
		}
	}
	list, _, err := all.Runs.Waiting(t.Context(), fixture.Account, "", fixture.Epoch, "", 200)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range list {
		got = append(got, w.Run.ID+" "+string(w.Kind)+" "+w.StepID.String())
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		t.Errorf("%q wait, and the list has %q", want, got)
	}
	return kinds
}
