/* Macros that state what a test program expects. The first failure ends the program. */
#ifndef EXPECT_H
#define EXPECT_H

#include <stdio.h>
#include <stdlib.h>

#define EXPECT(expression, expected)                                                                                   \
    do {                                                                                                               \
        const long long got_ = (long long)(expression), expected_ = (long long)(expected);                             \
        if (got_ != expected_) {                                                                                       \
            fprintf(stderr, "%s:%d: %s is %lld, not %lld; last error: %s\n", __FILE__, __LINE__, #expression, got_,    \
                    expected_, prt_last_error());                                                                      \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

#define EXPECT_TRUE(expression) EXPECT(!!(expression), 1)

#endif
