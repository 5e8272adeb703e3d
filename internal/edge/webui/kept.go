package webui

import (
	"crypto/sha256"
	"sync"

	"piloto/internal/ground/render"
)

// maxKept bounds the HTML that is kept, in bytes.
const maxKept = 8 << 20

// kept is the HTML of rendered texts, because every view of a chat shows the same ones. It
// lives in the process, so it is always of this version of the renderer.
var kept = keeper{most: maxKept / 2}

// keeper keeps the HTML of the texts that were used last, by their hash. It has two halves:
// when the newer one is full, the older one is dropped.
type keeper struct {
	most         int // bytes of a half
	mu           sync.Mutex
	size         int // of the newer half
	newer, older map[[sha256.Size]byte]render.HTML
}

// html returns the HTML of a text. It renders a text that is not kept.
func (k *keeper) html(text string, renders func() render.HTML) render.HTML {
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

func (k *keeper) find(key [sha256.Size]byte) (render.HTML, bool) {
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

// keep adds to the newer half. An entry counts as more bytes than its HTML, so that many short
// ones are bounded too.
func (k *keeper) keep(key [sha256.Size]byte, made render.HTML) {
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
