package webui

import (
	"crypto/sha256"
	"sync"

	"piloto/internal/render"
)

// maxKept bounds the HTML that is kept, in bytes.
const maxKept = 8 << 20

// kept is what texts were rendered to: every view of a chat shows the same ones.
// It is of this process, so another version of the renderer never meets it.
var kept = keeper{most: maxKept / 2}

// keeper keeps the HTML of the texts that were asked for last, by their hash. It
// has two halves: when the newer one is full, the older one goes.
type keeper struct {
	most         int // bytes of a half
	mu           sync.Mutex
	size         int // of the newer half
	newer, older map[[sha256.Size]byte]render.HTML
}

// html returns what a text was rendered to, and renders it when it is not kept.
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

// keep adds to the newer half. An entry counts as more than its HTML, so that
// very many short ones are bounded too.
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
