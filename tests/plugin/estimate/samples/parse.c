#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    const char *text;
    size_t length;
    size_t at;
} cursor_t;

static void skip_space(cursor_t *cursor)
{
    while (cursor->at < cursor->length && isspace((unsigned char)cursor->text[cursor->at])) {
        cursor->at++;
    }
}

bool parse_u32(cursor_t *cursor, uint32_t *out)
{
    uint64_t value = 0;
    size_t start;

    skip_space(cursor);
    start = cursor->at;
    while (cursor->at < cursor->length && isdigit((unsigned char)cursor->text[cursor->at])) {
        value = value * 10 + (uint64_t)(cursor->text[cursor->at] - '0');
        if (value > UINT32_MAX) {
            return false;
        }
        cursor->at++;
    }
    *out = (uint32_t)value;
    return cursor->at > start;
}
