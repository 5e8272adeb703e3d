package memory

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"

	"piloto/internal/workspace"
	"piloto/internal/workspace/files"
)

// Objects keeps contents under keys. The zero value has none.
type Objects struct {
	mu   sync.Mutex
	kept map[string][]byte
}

// Put keeps an object. One that is there with that key stays as it is.
func (o *Objects) Put(ctx context.Context, key string, content []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, there := o.kept[key]; !there {
		o.set(key, content)
	}
	return ctx.Err()
}

// Set replaces an object.
func (o *Objects) Set(key string, content []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.set(key, content)
}

func (o *Objects) set(key string, content []byte) {
	if o.kept == nil {
		o.kept = map[string][]byte{}
	}
	o.kept[key] = bytes.Clone(content)
}

// Get returns an object, or workspace.ErrNotFound.
func (o *Objects) Get(ctx context.Context, key string) ([]byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	content, ok := o.kept[key]
	if !ok {
		return nil, workspace.ErrNotFound.With("name", key)
	}
	return bytes.Clone(content), ctx.Err()
}

// List returns the keys that begin with a prefix, in the order of bytes.
func (o *Objects) List(ctx context.Context, prefix string) ([]string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var keys []string
	for key := range o.kept {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, ctx.Err()
}

// Kept returns the objects whose keys begin with a prefix.
func (o *Objects) Kept(ctx context.Context, prefix string) ([]files.Kept, error) {
	keys, err := o.List(ctx, prefix)
	o.mu.Lock()
	defer o.mu.Unlock()
	all := make([]files.Kept, len(keys))
	for i, key := range keys {
		all[i] = files.Kept{Key: key, Size: int64(len(o.kept[key])), Present: true}
	}
	return all, err
}

// Remove removes objects.
func (o *Objects) Remove(ctx context.Context, list []files.Kept) error {
	for _, k := range list {
		if err := o.Delete(ctx, k.Key); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Delete removes an object, if it is there.
func (o *Objects) Delete(ctx context.Context, key string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.kept, key)
	return ctx.Err()
}
