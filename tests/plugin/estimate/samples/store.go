package store

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrExpired is returned for an entry whose time to live has passed.
var ErrExpired = errors.New("store: entry expired")

type entry struct {
	value   []byte
	expires time.Time
}

type Store struct {
	mu      sync.RWMutex
	entries map[string]entry
	clock   func() time.Time
}

func New(clock func() time.Time) *Store {
	return &Store{entries: make(map[string]entry), clock: clock}
}

func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	found, ok := s.entries[key]
	if !ok {
		return nil, nil
	}
	if s.clock().After(found.expires) {
		return nil, ErrExpired
	}
	return found.value, nil
}
