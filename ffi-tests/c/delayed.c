/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Delayed scaling from C: known answers, and each bad argument with its outputs untouched. */
#include <math.h>

#include "check.h"

enum { HISTORY = 3, TENSORS = 2, PATTERN = 0xA5 };

static ofp8_delayed rules_of(size_t history)
{
    ofp8_delayed rules;
    memset(&rules, 0, sizeof rules);
    rules.struct_size = sizeof rules;
    rules.history = history;
    return rules;
}

static uint32_t amax_of(float value)
{
    uint32_t amax = 0;
    CHECK(ofp8_amax(OFP8_F32, &value, 1, &amax) == OFP8_OK);
    return amax;
}

static uint32_t state[OFP8_DELAYED_SIZE(HISTORY, TENSORS) / 4];

static float amax_in_use(const ofp8_delayed *rules, size_t tensor)
{
    uint32_t amax = 0;
    CHECK(ofp8_delayed_amax(rules, state, sizeof state, tensor, &amax) == OFP8_OK);
    return ofp8_amax_to_f32(amax);
}

static void step(const ofp8_delayed *rules, float value)
{
    CHECK(ofp8_delayed_record(rules, state, sizeof state, 0, amax_of(value)) == OFP8_OK);
    CHECK(ofp8_delayed_update(rules, state, sizeof state) == OFP8_OK);
}

static void size_of_the_state(void)
{
    for (size_t history = 1; history < 2000; history += 111) {
        for (size_t tensors = 0; tensors < 50; tensors += 7) {
            const ofp8_delayed rules = rules_of(history);
            size_t size = 0;
            CHECK(ofp8_delayed_size(&rules, tensors, &size) == OFP8_OK);
            CHECK(size == OFP8_DELAYED_SIZE(history, tensors));
        }
    }
}

static void window(void)
{
    static const float seen[] = {8.0f, 2.0f, 3.0f, 1.0f, 0.0f, 4.0f};
    static const float used[] = {8.0f, 8.0f, 8.0f, 3.0f, 3.0f, 4.0f};
    ofp8_delayed rules = rules_of(HISTORY);
    CHECK(ofp8_delayed_init(&rules, TENSORS, state, sizeof state) == OFP8_OK);
    CHECK(amax_in_use(&rules, 0) == 0.0f);
    for (int i = 0; i < 6; ++i) {
        step(&rules, seen[i]);
        CHECK(amax_in_use(&rules, 0) == used[i]);
        CHECK(amax_in_use(&rules, 1) == 0.0f);
    }
    rules.algorithm = OFP8_AMAX_MOST_RECENT;
    step(&rules, 0.5f);
    CHECK(amax_in_use(&rules, 0) == 0.5f);
}

static void infinities(void)
{
    static const uint32_t policies[] = {OFP8_NON_FINITE_HOLD, OFP8_NON_FINITE_CLAMP,
                                        OFP8_NON_FINITE_POISON};
    for (int i = 0; i < 3; ++i) {
        ofp8_delayed rules = rules_of(HISTORY);
        uint32_t count = 9;
        float used;
        rules.non_finite = policies[i];
        CHECK(ofp8_delayed_init(&rules, TENSORS, state, sizeof state) == OFP8_OK);
        step(&rules, 2.0f);
        step(&rules, i == 0 ? INFINITY : -NAN);
        used = amax_in_use(&rules, 0);
        CHECK(i == 0 ? used == 2.0f : i == 1 ? used > 3.4e38f && isfinite(used) : isnan(used));
        CHECK(ofp8_delayed_not_finite(&rules, state, sizeof state, 0, &count) == OFP8_OK);
        CHECK(count == 1);
        step(&rules, 1.0f);
        CHECK(amax_in_use(&rules, 0) == 2.0f);
    }
}

/* An interval of 2 with calibration; what all ranks saw is merged in the staging slots. */
static void interval_calibration_and_staging(void)
{
    ofp8_delayed rules = rules_of(HISTORY);
    uint32_t *staging = NULL, is_due = 9;
    rules.interval = 2;
    rules.calibration = 1;
    CHECK(ofp8_delayed_init(&rules, TENSORS, state, sizeof state) == OFP8_OK);
    CHECK(ofp8_delayed_is_due(&rules, state, sizeof state, &is_due) == OFP8_OK && is_due == 0);
    CHECK(ofp8_delayed_record(&rules, state, sizeof state, 1, amax_of(5.0f)) == OFP8_OK);
    CHECK(amax_in_use(&rules, 1) == 5.0f);
    CHECK(ofp8_delayed_update(&rules, state, sizeof state) == OFP8_OK);
    CHECK(ofp8_delayed_is_due(&rules, state, sizeof state, &is_due) == OFP8_OK && is_due == 1);
    CHECK(ofp8_delayed_staging(&rules, state, sizeof state, &staging) == OFP8_OK);
    CHECK(staging[0] == 0 && staging[1] == amax_of(5.0f));
    staging[1] = ofp8_merge_amax(staging[1], amax_of(-7.0f));
    CHECK(ofp8_delayed_update(&rules, state, sizeof state) == OFP8_OK);
    CHECK(amax_in_use(&rules, 1) == 7.0f && staging[1] == 0);
}

/* The amax goes straight into the quantizer. */
static void quantize(void)
{
    const float source[4] = {1.0f, -2.0f, 448.0f, 3.5f};
    ofp8_delayed rules = rules_of(HISTORY);
    ofp8_recipe recipe;
    ofp8_shape shape;
    uint8_t codes[4];
    uint32_t amax = 0;
    float scale = 0;
    memset(&recipe, 0, sizeof recipe);
    recipe.struct_size = sizeof recipe;
    recipe.element = OFP8_E4M3;
    memset(&shape, 0, sizeof shape);
    shape.struct_size = sizeof shape;
    shape.rows = 1;
    shape.cols = 4;
    shape.wide_type = OFP8_F32;
    CHECK(ofp8_delayed_init(&rules, TENSORS, state, sizeof state) == OFP8_OK);
    step(&rules, 224.0f);
    CHECK(ofp8_delayed_amax(&rules, state, sizeof state, 0, &amax) == OFP8_OK);
    CHECK(ofp8_quantize(&recipe, &shape, NULL, source, &amax, codes, &scale, 1, NULL, NULL)
          == OFP8_OK);
    CHECK(scale == 0.5f && codes[0] == ofp8_e4m3_from_f32(2.0f) && codes[2] == 0x7E);
}

static uint32_t before[sizeof state / 4];
static struct results {
    size_t size;
    uint32_t word;
    uint32_t *pointer;
} results, results_before;
static ofp8_delayed rules;

static void reset(void)
{
    rules = rules_of(HISTORY);
    CHECK(ofp8_delayed_init(&rules, TENSORS, state, sizeof state) == OFP8_OK);
    memcpy(before, state, sizeof state);
    memset(&results, PATTERN, sizeof results);
    memcpy(&results_before, &results, sizeof results);
}

static void refused_at(ofp8_status got, ofp8_status want, const char *call, int line)
{
    check_at(got == want, call, __FILE__, line);
    check_at(memcmp(state, before, sizeof state) == 0, "the state is as it was", __FILE__, line);
    check_at(memcmp(&results, &results_before, sizeof results) == 0, "nothing is written",
             __FILE__, line);
    reset();
}

#define REFUSED(status, call) refused_at((call), (status), #call, __LINE__)

static void *odd(void *pointer)
{
    return (char *)pointer + 1;
}

/* A call of each function on a state. */
static ofp8_status call(int which, const ofp8_delayed *some, void *memory, size_t size)
{
    switch (which) {
    case 0:
        return ofp8_delayed_record(some, memory, size, 0, 1);
    case 1:
        return ofp8_delayed_update(some, memory, size);
    case 2:
        return ofp8_delayed_staging(some, memory, size, &results.pointer);
    case 3:
        return ofp8_delayed_is_due(some, memory, size, &results.word);
    case 4:
        return ofp8_delayed_amax(some, memory, size, 0, &results.word);
    case 5:
        return ofp8_delayed_not_finite(some, memory, size, 0, &results.word);
    case 6:
        return ofp8_delayed_init(some, TENSORS, memory, size);
    default:
        return ofp8_delayed_size(some, TENSORS, &results.size);
    }
}

static void bad_arguments(void)
{
    const size_t size = sizeof state;
    for (int which = 0; which < 8; ++which) {
        REFUSED(OFP8_NULL_POINTER, call(which, NULL, state, size));
        REFUSED(OFP8_MISALIGNED, call(which, (ofp8_delayed *)odd(&rules), state, size));
        rules.struct_size = 3;
        REFUSED(OFP8_STRUCT_SIZE, call(which, &rules, state, size));
        rules.history = 0;
        REFUSED(OFP8_RECIPE, call(which, &rules, state, size));
        rules.algorithm = 2;
        REFUSED(OFP8_UNKNOWN_POLICY, call(which, &rules, state, size));
        rules.non_finite = 3;
        REFUSED(OFP8_UNKNOWN_POLICY, call(which, &rules, state, size));
    }
    for (int which = 0; which < 7; ++which) {
        REFUSED(OFP8_NULL_POINTER, call(which, &rules, NULL, size));
        REFUSED(OFP8_MISALIGNED, call(which, &rules, odd(state), size - 4));
        REFUSED(OFP8_LENGTH, call(which, &rules, state, size - 4));
        REFUSED(OFP8_LENGTH, call(which, &rules, state, size - 1));
        REFUSED(OFP8_LENGTH, call(which, &rules, state, 0));
    }
    for (int which = 0; which < 6; ++which) {
        rules.history = HISTORY + 1;
        REFUSED(OFP8_STATE, call(which, &rules, state, size));
        state[0] ^= 1;
        before[0] ^= 1;
        REFUSED(OFP8_STATE, call(which, &rules, state, size));
    }
    REFUSED(OFP8_LENGTH, ofp8_delayed_record(&rules, state, size, TENSORS, 1));
    REFUSED(OFP8_LENGTH, ofp8_delayed_amax(&rules, state, size, TENSORS, &results.word));
    REFUSED(OFP8_LENGTH, ofp8_delayed_not_finite(&rules, state, size, TENSORS, &results.word));
    REFUSED(OFP8_NULL_POINTER, ofp8_delayed_amax(&rules, state, size, 0, NULL));
    REFUSED(OFP8_NULL_POINTER, ofp8_delayed_not_finite(&rules, state, size, 0, NULL));
    REFUSED(OFP8_NULL_POINTER, ofp8_delayed_is_due(&rules, state, size, NULL));
    REFUSED(OFP8_NULL_POINTER, ofp8_delayed_staging(&rules, state, size, NULL));
    REFUSED(OFP8_NULL_POINTER, ofp8_delayed_size(&rules, 1, NULL));
    REFUSED(OFP8_OVERLAP, ofp8_delayed_amax(&rules, state, size, 0, &state[9]));
    REFUSED(OFP8_MISALIGNED,
            ofp8_delayed_amax(&rules, state, size, 0, (uint32_t *)odd(&results.word)));
    REFUSED(OFP8_SHAPE, ofp8_delayed_size(&rules, (size_t)-1, &results.size));
}

int main(void)
{
    size_of_the_state();
    window();
    infinities();
    interval_calibration_and_staging();
    quantize();
    reset();
    bad_arguments();
    return finish("delayed");
}
