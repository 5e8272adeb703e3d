package tool

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/sweep"
)

// memoryStore is a small Store in memory, with the same conditions as a real one.
type memoryStore struct {
	mu      sync.Mutex
	servers map[string]Server
	ops     map[string][]Operation // by server and revision
	keys    map[string]Keys
	due     map[string]time.Time // of absent servers, by account and id
	looks   map[string]int
}

func newMemoryStore() *memoryStore {
	return &memoryStore{servers: map[string]Server{}, ops: map[string][]Operation{}, keys: map[string]Keys{}, due: map[string]time.Time{}, looks: map[string]int{}}
}

func (s *memoryStore) Server(_ context.Context, account ids.Account, id string) (Server, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.servers[string(account)+"/"+id]
	if !ok {
		return Server{}, ErrServerNotFound
	}
	return v, nil
}

func (s *memoryStore) Servers(_ context.Context, account ids.Account) ([]Server, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Server
	for k, v := range s.servers {
		if strings.HasPrefix(k, string(account)+"/") {
			list = append(list, v)
		}
	}
	return list, nil
}

func (s *memoryStore) CreateServer(_ context.Context, account ids.Account, v Server, c Catalogue, key *Credential) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.servers[string(account)+"/"+v.ID] = v
	s.ops[v.ID+c.Revision] = c.Operations
	if key != nil {
		s.keys[string(account)+"/"+v.ID] = Keys{*key}
	}
	return nil
}

func (s *memoryStore) ReplaceCatalogue(_ context.Context, account ids.Account, v Server, seen string, c Catalogue) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.servers[string(account)+"/"+v.ID].Catalogue != seen {
		return ErrServerMoved
	}
	s.servers[string(account)+"/"+v.ID] = v
	s.ops[v.ID+c.Revision] = c.Operations
	return nil
}

func (s *memoryStore) MarkServer(_ context.Context, account ids.Account, v Server, seen string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.servers[string(account)+"/"+v.ID].Catalogue != seen {
		return ErrServerMoved
	}
	s.servers[string(account)+"/"+v.ID] = v
	return nil
}

func (s *memoryStore) SetServerActive(ctx context.Context, account ids.Account, id string, active bool, at time.Time) (Server, error) {
	v, err := s.Server(ctx, account, id)
	if err != nil {
		return v, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v.Active, v.UpdatedAt = active, at
	s.servers[string(account)+"/"+id] = v
	return v, nil
}

func (s *memoryStore) SetServerErrors(ctx context.Context, account ids.Account, id string, errors Errors) (Server, error) {
	v, err := s.Server(ctx, account, id)
	if err != nil {
		return v, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v.Errors = errors
	s.servers[string(account)+"/"+id] = v
	return v, nil
}

func (s *memoryStore) SetServerReads(ctx context.Context, account ids.Account, id string, reads Reads) (Server, error) {
	v, err := s.Server(ctx, account, id)
	if err != nil {
		return v, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v.Reads = reads
	s.servers[string(account)+"/"+id] = v
	return v, nil
}

func (s *memoryStore) ChangeKeys(ctx context.Context, account ids.Account, of Server, change func(Keys) (Keys, error), at time.Time) (Server, error) {
	id := of.ID
	v, err := s.Server(ctx, account, id)
	if err != nil {
		return v, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list, err := change(s.keys[string(account)+"/"+id])
	if err != nil {
		return v, err
	}
	v.Keys, v.UpdatedAt = list.Places(), at
	s.keys[string(account)+"/"+id] = list
	s.servers[string(account)+"/"+id] = v
	return v, nil
}

func (s *memoryStore) DeleteServer(ctx context.Context, account ids.Account, id string) error {
	if _, err := s.Server(ctx, account, id); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.servers, string(account)+"/"+id)
	return nil
}

func (s *memoryStore) Entries(_ context.Context, _ ids.Account, v Server) ([]Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Catalogue{Operations: s.ops[v.ID+v.Catalogue]}.Entries(), nil
}

func (s *memoryStore) Operation(_ context.Context, _ ids.Account, v Server, e Entry) (Operation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.ops[v.ID+v.Catalogue] {
		if o.Entry.String() == e.String() {
			return o, nil
		}
	}
	return Operation{}, ErrNotAllowed
}

func (s *memoryStore) Keys(_ context.Context, account ids.Account, of Server) (Keys, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys[string(account)+"/"+of.ID], nil
}

func (s *memoryStore) Absent(_ context.Context, at time.Time, limit int) ([]sweep.Row[Absent], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []sweep.Row[Absent]
	for k, v := range s.servers {
		if v.Catalogue == "" && v.Active && !s.due[k].After(at) && len(list) < limit {
			account, _, _ := strings.Cut(k, "/")
			list = append(list, sweep.Row[Absent]{Key: Absent{ids.Account(account), v.ID, s.looks[k], s.due[k].String()}, Name: v.ID})
		}
	}
	return list, nil
}

func (s *memoryStore) PutOffServer(_ context.Context, a Absent, until time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := string(a.Account) + "/" + a.ID
	if v, ok := s.servers[k]; !ok || v.Catalogue != "" || s.due[k].String() != a.Seen {
		return ErrServerMoved
	}
	s.due[k] = until
	s.looks[k]++
	return nil
}

func (s *memoryStore) FreezeTool(context.Context, ids.Account, string, string, string, time.Time) error {
	return nil
}

// fakeDiscoverer returns the configured results of discoveries.
type fakeDiscoverer struct {
	found Found
	err   error
	asked []string
}

func (w *fakeDiscoverer) Discover(_ context.Context, t Target) (Found, error) {
	base, known := t.Base, t.Known
	w.asked = append(w.asked, base+" "+known)
	return w.found, w.err
}

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func registry() (Registry, *fakeDiscoverer, *memoryStore) {
	w := &fakeDiscoverer{found: Found{
		BaseURL: "https://a.example/v1", DocumentURL: "https://a.example/openapi.json", Title: "Rooms\n API",
		Operations: []Operation{op("GET", "/rooms"), op("POST", "/rooms"), Reserve()}, KeyPlaces: []KeyPlace{{In: "header", Name: "X-Key"}},
	}}
	s := newMemoryStore()
	return Registry{Discover: map[Kind]Discoverer{KindOpenAPI: w, KindMCP: w}, Store: s, IDs: ids.NewSource(nil)}, w, s
}

func TestRegisterStoresDiscoveredOperations(t *testing.T) {
	r, _, store := registry()
	s, list, err := r.Register(t.Context(), "acc", Registration{URL: "a.example/docs", Key: &Credential{Secret: "s3cret-value"}}, now)
	if err != nil {
		t.Fatal(err)
	}
	want := Server{
		ID: s.ID, Name: "Rooms API", Kind: KindOpenAPI, Role: RoleTools, BaseURL: "https://a.example/v1", DocumentURL: "https://a.example/openapi.json", Active: true,
		Status: Online, Reads: Reads{Mode: ReadsOff}, Catalogue: s.Catalogue, Operations: 3, Keys: []KeyPlace{{In: "header", Name: "X-Key"}}, Wants: []KeyPlace{{In: "header", Name: "X-Key"}},
		CreatedAt: now, UpdatedAt: now, RefreshedAt: now,
	}
	if diff := cmp.Diff(want, s); diff != "" || !ids.Valid(s.ID) || !ids.Valid(s.Catalogue) {
		t.Error(diff)
	}
	for _, e := range list {
		if len(e.Fingerprint) != 64 {
			t.Errorf("%s %s has no fingerprint", e.Method, e.Path)
		}
	}
	if store.keys["acc/"+s.ID][0].Secret != "s3cret-value" {
		t.Error("the key was not stored")
	}
	if _, _, err := r.Register(t.Context(), "acc", Registration{URL: "https://a.example"}, now); !errors.Is(err, ErrDuplicate) || fault.Of(err).Args["existing"] != s.ID {
		t.Errorf("registered twice: %v", err)
	}
	if again, _, err := r.Register(t.Context(), "acc", Registration{URL: "https://a.example", Force: true}, now); err != nil || again.ID == s.ID {
		t.Errorf("forced: %v", err)
	}
	for _, unseen := range []string{" ", "\u200b\u2060", "\u3164", "\ufeff"} {
		if s, _, err := r.Register(t.Context(), "acc", Registration{URL: "https://a.example", Name: unseen, Force: true}, now); err != nil || s.Name != "Rooms API" {
			t.Errorf("a name %+q: %+q, %v", unseen, s.Name, err)
		}
		if name := defaultName(unseen, "https://a.example/v1"); name != "a.example" {
			t.Errorf("a title %+q: %+q", unseen, name)
		}
	}
	if _, _, err := r.Register(t.Context(), "other", Registration{URL: "https://a.example"}, now); err != nil {
		t.Errorf("another account: %v", err)
	}
}

// TestARegistrationIsTakenBeforeItIsStored: the bytes of its allowlist.
func TestARegistrationIsTakenBeforeItIsStored(t *testing.T) {
	r, _, store := registry()
	asked, refused := 0, errors.New("too many")
	_, _, err := r.Register(t.Context(), "acc", Registration{URL: "https://a.example", Takes: func(bytes int) error {
		asked = bytes
		return refused
	}}, now)
	list, listErr := store.Servers(t.Context(), "acc")
	if !errors.Is(err, refused) || asked < 100 || len(list) > 0 || listErr != nil {
		t.Errorf("%v, %d bytes, %v, %v", err, asked, list, listErr)
	}
}

// TestRegisterComparesAddressesFirst: a service that is there is found without its key, and whether or not it can be read now.
func TestRegisterComparesAddressesFirst(t *testing.T) {
	r, w, _ := registry()
	s, _, err := r.Register(t.Context(), "acc", Registration{URL: "https://a.example/v1"}, now)
	if err != nil {
		t.Fatal(err)
	}
	w.err, w.asked = ErrUnauthorized, nil
	for name, c := range map[string]struct {
		in   Registration
		want error
	}{
		"its address":      {Registration{URL: "https://A.example/v1/"}, ErrDuplicate},
		"its document":     {Registration{URL: "https://a.example/openapi.json"}, ErrDuplicate},
		"by force":         {Registration{URL: "https://a.example/v1", Force: true}, ErrUnauthorized},
		"another address":  {Registration{URL: "https://a.example/v2"}, ErrUnauthorized},
		"another document": {Registration{URL: "https://a.example/v1", Document: "https://b.example/d.json"}, ErrUnauthorized},
		"another kind":     {Registration{URL: "https://a.example/v1", Kind: KindMCP}, ErrUnauthorized},
		"another role":     {Registration{URL: "https://a.example/v1", Role: RoleAgent, Name: "a"}, ErrUnauthorized},
	} {
		if _, _, err := r.Register(t.Context(), "acc", c.in, now); !errors.Is(err, c.want) || c.want == ErrDuplicate && fault.Of(err).Args["existing"] != s.ID {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(w.asked) != 5 {
		t.Errorf("%d discoveries: %q", len(w.asked), w.asked)
	}
}

func TestRegisterRefuses(t *testing.T) {
	key := func(in, name, secret string) *Credential { return &Credential{KeyPlace{In: in, Name: name}, secret} }
	cases := []struct {
		in   Registration
		err  error // of the discovery
		base string
		want error
	}{
		{in: Registration{URL: "https://a.example", Kind: "soap"}, want: ErrKind},
		{in: Registration{URL: "ftp://a.example"}, want: ErrURL},
		{in: Registration{URL: "http://127.0.0.1"}, want: ErrTarget},
		{in: Registration{URL: "http://127.0.0.1", AllowOffline: true}, want: ErrTarget},
		{in: Registration{URL: "https://a.example", Name: strings.Repeat("n", 81)}, want: ErrName},
		{in: Registration{URL: "https://a.example", Name: "a\nb"}, want: ErrName},
		{in: Registration{URL: "https://a.example"}, err: ErrUnreachable, want: ErrUnreachable},
		{in: Registration{URL: "https://a.example", AllowOffline: true}, err: ErrDocument, want: ErrDocument},
		{in: Registration{URL: "https://a.example", AllowOffline: true}, err: ErrNoDocument, want: ErrNoDocument},
		{in: Registration{URL: "https://a.example", AllowOffline: true}, err: ErrTarget, want: ErrTarget},
		{in: Registration{URL: "https://a.example"}, base: "https://b.example", want: ErrDocument},
		{in: Registration{URL: "https://a.example"}, base: "http://a.example", want: ErrDocument},
		{in: Registration{URL: "https://a.example"}, base: "https://a.example:444", want: ErrDocument},
		{in: Registration{URL: "https://a.example", Key: key("cookie", "a b", "s")}, want: ErrKey},
		{in: Registration{URL: "https://a.example", Key: key("cookie", "x", "a;b=c")}, want: ErrKey},
		{in: Registration{URL: "https://a.example", Key: key("body", "x", "s")}, want: ErrKey},
		{in: Registration{URL: "https://a.example", Key: key("header", "Host", "s")}, want: ErrKey},
		{in: Registration{URL: "https://a.example", Key: key("header", "Content-Length", "s")}, want: ErrKey},
		{in: Registration{URL: "https://a.example", Key: key("header", "X-Forwarded-For", "s")}, want: ErrKey},
		{in: Registration{URL: "https://a.example", Key: key("header", "a b", "s")}, want: ErrKey},
		{in: Registration{URL: "https://a.example", Key: key("header", "", "s")}, want: ErrKey},
		{in: Registration{URL: "https://a.example", Key: key("header", "X-Key", "s\r\nX: y")}, want: ErrKey},
		{in: Registration{URL: "https://a.example", Key: key("bearer", "", "")}, want: ErrKey},
		{in: Registration{URL: "https://a.example", Key: key("bearer", "x", "s")}, want: ErrKey},
		{in: Registration{URL: "https://a.example", Key: key("query", "", "s")}, want: ErrKey},
	}
	for _, c := range cases {
		r, w, store := registry()
		w.err = c.err
		if c.base != "" {
			w.found.BaseURL = c.base
		}
		_, _, err := r.Register(t.Context(), "acc", c.in, now)
		if !errors.Is(err, c.want) {
			t.Errorf("%+v: %v, want %v", c.in, err, c.want)
		}
		if len(store.servers) != 0 {
			t.Errorf("%+v: refused, and stored", c.in)
		}
		if c.in.Key != nil && len(c.in.Key.Secret) > 3 && strings.Contains(err.Error(), c.in.Key.Secret) {
			t.Errorf("%v holds the key", err)
		}
	}
}

func TestRegisterOfflineThenRefresh(t *testing.T) {
	r, w, store := registry()
	w.err = ErrUnreachable
	s, list, err := r.Register(t.Context(), "acc", Registration{URL: "https://a.example", AllowOffline: true}, now)
	if err != nil || s.Status != Offline || s.LastError != "mcp.unreachable" || s.Catalogue != "" || len(list) != 0 || s.Name != "a.example" {
		t.Fatalf("%+v %v", s, err)
	}
	w.err = nil
	s, list, diff, err := r.Refresh(t.Context(), "acc", s.ID, now.Add(time.Hour))
	if err != nil || s.Status != Online || s.LastError != "" || len(list) != 3 || len(diff.Added) != 3 {
		t.Fatalf("%+v %+v %v", s, diff, err)
	}
	if got, _ := store.Entries(t.Context(), "acc", s); len(got) != 3 {
		t.Errorf("%d entries stored", len(got))
	}
}

func TestRefreshReplacesAllowlistAndReturnsDiff(t *testing.T) {
	r, w, _ := registry()
	s, _, err := r.Register(t.Context(), "acc", Registration{URL: "https://a.example", Name: "Mine"}, now)
	if err != nil {
		t.Fatal(err)
	}
	changed := Reserve()
	changed.Body = nil
	described := op("GET", "/rooms")
	described.Summary = "only words"
	w.found.Operations = []Operation{described, changed, op("GET", "/new")}
	next, list, diff, err := r.Refresh(t.Context(), "acc", s.ID, now)
	if err != nil {
		t.Fatal(err)
	}
	want := Diff{Added: []string{"GET /new"}, Removed: []string{"POST /rooms"}, Changed: []string{"POST /rooms/{id}/reservations"}}
	if d := cmp.Diff(want, diff); d != "" || len(list) != 3 || next.Name != "Mine" || next.Catalogue == s.Catalogue {
		t.Error(d, next)
	}
	if got := w.asked[len(w.asked)-1]; got != "https://a.example/v1 https://a.example/openapi.json" {
		t.Errorf("asked for %q", got)
	}
}

func TestRefreshThatFailsKeepsTheAllowlist(t *testing.T) {
	for cause, status := range map[error]Status{ErrUnreachable: Offline, ErrTarget: Offline, ErrDocument: Online, ErrNoDocument: Online} {
		r, w, store := registry()
		s, _, err := r.Register(t.Context(), "acc", Registration{URL: "https://a.example"}, now)
		if err != nil {
			t.Fatal(err)
		}
		w.err = cause
		if _, _, _, err := r.Refresh(t.Context(), "acc", s.ID, now); !errors.Is(err, cause) {
			t.Errorf("%v, want %v", err, cause)
		}
		got, list, err := r.Get(t.Context(), "acc", s.ID)
		if err != nil || len(list) != 3 || got.Status != status || got.LastError != fault.Of(cause).Code || got.Catalogue != s.Catalogue {
			t.Errorf("after %v: %+v %d %v", cause, got, len(list), err)
		}
		w.err = context.Canceled
		if _, _, _, err := r.Refresh(t.Context(), "acc", s.ID, now); !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want cancelled", err)
		}
		if after := store.servers["acc/"+s.ID]; after.LastError != fault.Of(cause).Code {
			t.Errorf("a cancelled refresh changed the server to %q", after.LastError)
		}
	}
}

func TestRegistryIsolatesAccounts(t *testing.T) {
	r, _, _ := registry()
	s, _, err := r.Register(t.Context(), "acc", Registration{URL: "https://a.example"}, now)
	if err != nil {
		t.Fatal(err)
	}
	_, _, errGet := r.Get(t.Context(), "other", s.ID)
	_, _, _, errRefresh := r.Refresh(t.Context(), "other", s.ID, now)
	_, errActive := r.SetActive(t.Context(), "other", s.ID, false, now)
	_, errKey := r.SetKey(t.Context(), "other", s.ID, Credential{Secret: "abc"}, now)
	_, errReads := r.SetReads(t.Context(), "other", s.ID, WantedReads{Mode: ReadsOn})
	for _, err := range []error{errGet, errRefresh, errActive, errKey, errReads, r.Delete(t.Context(), "other", s.ID)} {
		if !errors.Is(err, ErrServerNotFound) {
			t.Errorf("%v, want not found", err)
		}
	}
	if list, err := r.List(t.Context(), "other"); err != nil || len(list) != 0 {
		t.Errorf("%v %v", list, err)
	}
}

func TestSetKeyAndActive(t *testing.T) {
	r, _, store := registry()
	s, _, err := r.Register(t.Context(), "acc", Registration{URL: "https://a.example"}, now)
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.SetKey(t.Context(), "acc", s.ID, Credential{Secret: "abc"}, now)
	if err != nil || len(got.Keys) != 1 || got.Keys[0] != (KeyPlace{In: "bearer"}) || store.keys["acc/"+s.ID][0].Secret != "abc" {
		t.Errorf("%+v %v", got.Keys, err)
	}
	if got, err = r.RemoveKey(t.Context(), "acc", s.ID, KeyPlace{}, now); err != nil || len(got.Keys) != 0 || len(store.keys["acc/"+s.ID]) != 0 {
		t.Errorf("%+v %v", got.Keys, err)
	}
	if got, err = r.SetActive(t.Context(), "acc", s.ID, false, now); err != nil || got.Active {
		t.Errorf("%+v %v", got, err)
	}
}

func TestReadsAreWhatAPersonAllowed(t *testing.T) {
	r, _, _ := registry()
	s, entries, err := r.Register(t.Context(), "acc", Registration{URL: "https://a.example"}, now)
	if err != nil || s.Previews() || s.MayRead(Entry{Method: "GET"}) {
		t.Fatalf("%+v %v", s, err)
	}
	got, err := r.SetReads(t.Context(), "acc", s.ID, WantedReads{Mode: ReadsPreview})
	if err != nil || !got.Previews() || got.MayRead(Entry{Method: "GET"}) {
		t.Errorf("%+v %v", got, err)
	}
	got, err = r.SetReads(t.Context(), "acc", s.ID, WantedReads{Mode: ReadsOn, Zone: " ventas "})
	if err != nil || !got.Previews() || !got.MayRead(Entry{Method: "GET"}) || !got.MayRead(Entry{Method: "HEAD"}) || got.MayRead(Entry{Method: "POST"}) || got.Zone() != "circle:ventas" {
		t.Errorf("%+v %v", got, err)
	}
	if got, _, _, err := r.Refresh(t.Context(), "acc", s.ID, now); err != nil || !got.MayRead(Entry{Method: "GET"}) {
		t.Errorf("a refresh forgot it: %+v %v", got, err)
	}
	if got, err := r.SetReads(t.Context(), "acc", s.ID, WantedReads{Mode: ReadsOff}); err != nil || got.Previews() || got.Zone() != "server:"+s.ID {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := r.SetReads(t.Context(), "acc", s.ID, WantedReads{Mode: ReadsOn, Tools: []string{"x"}}); !errors.Is(err, ErrReads) {
		t.Errorf("a tool of an API: %v, %d operations", err, len(entries))
	}
}

// A tool is a read while it is the one that a person named. What its server says of it makes it none.
func TestAToolIsReadWhileItIsTheOneThatWasNamed(t *testing.T) {
	s := Server{ID: "s", Kind: KindMCP}
	entries := []Entry{{Name: "find", Fingerprint: "f1"}, {Name: "erase", Fingerprint: "e1"}}
	reads, err := readsOf(s, entries, WantedReads{Mode: ReadsOn, Tools: []string{"find"}})
	if err != nil {
		t.Fatal(err)
	}
	s.Reads = reads
	if !s.MayRead(entries[0]) || s.MayRead(entries[1]) || s.MayRead(Entry{Name: "find", Fingerprint: "f2"}) || s.MayRead(Entry{Name: "new", Method: "GET"}) {
		t.Errorf("%+v", reads)
	}
}

// A named tool that changed, is gone or is frozen is not read, and is told apart.
func TestANamedToolThatChangedIsToldApart(t *testing.T) {
	named := Server{ID: "s", Kind: KindMCP, Reads: Reads{Mode: ReadsOn, Tools: map[string]string{"find": "f1", "list": "l1"}}}
	frozen := named
	frozen.Frozen = []string{"list"}
	find, list := Entry{Name: "find", Fingerprint: "f1"}, Entry{Name: "list", Fingerprint: "l1"}
	for name, c := range map[string]struct {
		of            Server
		entries       []Entry
		same, changed string
	}{
		"as they were":  {named, []Entry{list, find}, "find list", ""},
		"one changed":   {named, []Entry{find, {Name: "list", Fingerprint: "l2"}}, "find", "list"},
		"one is gone":   {named, []Entry{list, {Name: "new", Fingerprint: "f1"}}, "list", "find"},
		"one is frozen": {frozen, []Entry{list, find}, "find", "list"},
		"nothing named": {Server{Kind: KindMCP}, []Entry{list, find}, "", ""},
	} {
		same, changed := c.of.NamedTools(c.entries)
		if strings.Join(same, " ") != c.same || strings.Join(changed, " ") != c.changed {
			t.Errorf("%s: %q and %q", name, same, changed)
		}
		for _, e := range c.entries {
			if c.of.MayRead(e) != slices.Contains(same, e.Name) {
				t.Errorf("%s: MayRead(%s) is %t", name, e.Name, c.of.MayRead(e))
			}
		}
	}
}

// What a service cannot have is refused at its place, also when it is registered.
func TestReadsThatAServiceCannotHaveAreRefusedAtTheirPlace(t *testing.T) {
	api, tools, agent := Server{Kind: KindOpenAPI}, Server{Kind: KindMCP}, Server{Kind: KindMCP, Role: RoleAgent}
	yes, no := true, false
	entries := []Entry{
		{Name: "find", Fingerprint: "f1"},
		{Name: "erase", Hints: Hints{Destructive: &yes}},
		{Name: "add", Hints: Hints{ReadOnly: &no, Destructive: &no}},
		{Name: "both", Hints: Hints{ReadOnly: &yes, Destructive: &yes}},
		{Name: "list", Hints: Hints{ReadOnly: &yes, Destructive: &no}},
	}
	for _, c := range []struct {
		of   Server
		want WantedReads
		kind string
		at   []any
	}{
		{agent, WantedReads{Mode: ReadsOn}, "agent", []any{"body", "mode"}},
		{tools, WantedReads{Mode: ReadsPreview}, "no_get", []any{"body", "mode"}},
		{api, WantedReads{Mode: ReadsOn, Zone: strings.Repeat("c", MaxZone+1)}, "long", []any{"body", "circle"}},
		{api, WantedReads{Mode: ReadsOn, Tools: []string{"find"}}, "no_tools", []any{"body", "tools"}},
		{tools, WantedReads{Mode: ReadsOn, Tools: []string{"find", "absent"}}, "unknown", []any{"body", "tools", 1}},
		{tools, WantedReads{Mode: ReadsOn, Tools: []string{"find", "list", "erase"}}, "writes", []any{"body", "tools", 2}},
		{tools, WantedReads{Mode: ReadsOff, Tools: []string{"add"}}, "writes", []any{"body", "tools", 0}},
		{tools, WantedReads{Mode: ReadsOn, Tools: []string{"both"}}, "writes", []any{"body", "tools", 0}},
		{tools, WantedReads{Mode: ReadsOn, Tools: []string{"absent"}, Although: true}, "unknown", []any{"body", "tools", 0}},
	} {
		_, err := readsOf(c.of, entries, c.want, "body")
		f := fault.Of(err)
		if !errors.Is(err, ErrReads) || len(f.Fields) != 1 || f.Fields[0].Type != c.kind || !reflect.DeepEqual(f.Fields[0].Loc, c.at) {
			t.Errorf("%+v: %v %+v", c.want, err, f.Fields)
		}
	}

	got, err := readsOf(tools, entries, WantedReads{Mode: ReadsOn, Tools: []string{"erase", "add", "both", "find"}, Although: true}, "body")
	if err != nil || len(got.Tools) != 4 {
		t.Errorf("although: %+v %v", got, err)
	}
	r, _, store := registry()
	_, _, err = r.Register(t.Context(), "acc", Registration{URL: "https://a.example", Reads: WantedReads{Mode: ReadsOn, Tools: []string{"x"}}}, now)
	if f := fault.Of(err); !errors.Is(err, ErrReads) || !reflect.DeepEqual(f.Fields[0].Loc, []any{"body", "reads", "tools"}) || len(store.servers) != 0 {
		t.Errorf("%v %+v, %d servers", err, f.Fields, len(store.servers))
	}
	s, _, err := r.Register(t.Context(), "acc", Registration{URL: "https://a.example", Reads: WantedReads{Mode: ReadsOn, Zone: "ventas"}}, now)
	if err != nil || !s.MayRead(Entry{Method: "GET"}) || s.Zone() != "circle:ventas" {
		t.Errorf("%+v %v", s.Reads, err)
	}
}
