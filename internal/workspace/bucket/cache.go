package bucket

import (
	"bytes"
	"container/list"
	"sync"

	"piloto/internal/workspace"
)

// A Cache keeps contents of versions in memory, those that were used last. A version never has another content, so
// that a tree that did not change is searched without reading it again. All workspaces of a process share one. It is
// safe for concurrent use.
type Cache struct {
	most int64 // bytes

	mu     sync.Mutex
	bytes  int64
	used   list.List // of *held, the last used first
	byName map[cacheKey]*list.Element
}

// cacheKey identifies a content: two workspaces, and two files of one, share none.
type cacheKey struct{ key, version string }

type held struct {
	cacheKey
	file    workspace.File
	content []byte
}

// NewCache returns a cache of so many bytes.
func NewCache(most int64) *Cache { return &Cache{most: most, byName: map[cacheKey]*list.Element{}} }

// get returns a content, which the caller does not change.
func (c *Cache) get(key, version string) ([]byte, workspace.File, bool) {
	if c == nil {
		return nil, workspace.File{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byName[cacheKey{key, version}]
	if !ok {
		return nil, workspace.File{}, false
	}
	c.used.MoveToFront(e)
	h := e.Value.(*held) //nolint:forcetypeassert // there is nothing else in it
	return h.content, h.file, true
}

// put keeps a copy of a whole content. One that would take much of the cache is not kept.
func (c *Cache) put(key string, f workspace.File, content []byte) {
	if c == nil || int64(len(content)) != f.Size || f.Size > c.most/4 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at := cacheKey{key, f.Version}
	if _, ok := c.byName[at]; ok {
		return
	}
	c.byName[at] = c.used.PushFront(&held{at, f, bytes.Clone(content)})
	for c.bytes += c.cost(at, f); c.bytes > c.most; {
		last := c.used.Back()
		h := c.used.Remove(last).(*held) //nolint:forcetypeassert // as above
		delete(c.byName, h.cacheKey)
		c.bytes -= c.cost(h.cacheKey, h.file)
	}
}

// cost returns about how many bytes a content takes.
func (*Cache) cost(at cacheKey, f workspace.File) int64 {
	const overhead = 256
	return f.Size + int64(len(at.key)) + overhead
}
