package webui

import (
	"crypto/sha256"
	"sync"

	"piloto/internal/ground/render"
)

// maxCached is the limit of the cached HTML, in bytes.
const maxCached = 8 << 20

// renderedTexts caches the HTML of texts, because every view of a chat shows the same ones. The cache is in memory,
// so its HTML is always of this version of the renderer.
var renderedTexts = htmlCache{most: maxCached / 2}

// htmlCache caches the HTML of the most recently used texts, by their hash. It has two halves: when the newer one
// is full, the older one is dropped.
type htmlCache struct {
	most         int // byte limit of a half
	mu           sync.Mutex
	size         int // size of the newer half
	newer, older map[[sha256.Size]byte]render.HTML
}

// html returns the HTML of a text, from the cache or rendered.
func (k *htmlCache) html(text string, renders func() render.HTML) render.HTML {
	key := sha256.Sum256([]byte(text))
	if made, ok := k.find(key); ok {
		return made
	}
	made := renders()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keep(key, made)
	return made
}

func (k *htmlCache) find(key [sha256.Size]byte) (render.HTML, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	made, ok := k.newer[key]
	if !ok {
		if made, ok = k.older[key]; ok {
			k.keep(key, made)
		}
	}
	return made, ok
}

// keep adds an entry to the newer half. An entry counts as more bytes than its HTML, so that the number of short
// entries is bounded, too.
func (k *htmlCache) keep(key [sha256.Size]byte, made render.HTML) {
	cost := len(made) + 128
	if cost > k.most {
		return
	}
	if _, ok := k.newer[key]; ok {
		return
	}
	if k.newer == nil || k.size+cost > k.most {
		k.older, k.newer, k.size = k.newer, map[[sha256.Size]byte]render.HTML{}, 0
	}
	k.newer[key] = made
	k.size += cost
}
