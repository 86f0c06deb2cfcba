/*
 * 2/pi times a power of two, modulo 4, as the sum of two doubles: number i of 2^i * 2/pi. The
 * first has 29 digits, so that its product with a float is exact; a quarter turn is 1.
 */
#ifndef CPU_STRIP_TURNS_H
#define CPU_STRIP_TURNS_H

enum { NTURN = 105 };

// clang-format off
static const double turns_high[NTURN] = {
    0x1.45f306dp-1, 0x1.45f306dp+0, 0x1.45f306dp+1, 0x1.17cc1b7p+0, 0x1.17cc1b7p+1,
    0x1.7cc1b72p-2, 0x1.7cc1b72p-1, 0x1.7cc1b72p+0, 0x1.7cc1b72p+1, 0x1.f306dc9p+0,
    0x1.f306dc9p+1, 0x1.e60db93p+1, 0x1.cc1b727p+1, 0x1.9836e4ep+1, 0x1.306dc9cp+1,
    0x1.836e4e4p-1, 0x1.836e4e4p+0, 0x1.836e4e4p+1, 0x1.06dc9c8p+1, 0x1.b72722p-4,
    0x1.b72722p-3, 0x1.b72722p-2, 0x1.b72722p-1, 0x1.b72722p+0, 0x1.b72722p+1,
    0x1.6e4e441p+1, 0x1.b939105p+0, 0x1.b939105p+1, 0x1.727220ap+1, 0x1.c9c882ap+0,
    0x1.c9c882ap+1, 0x1.9391054p+1, 0x1.27220a9p+1, 0x1.391054ap-1, 0x1.391054ap+0,
    0x1.391054ap+1, 0x1.c882a53p-1, 0x1.c882a53p+0, 0x1.c882a53p+1, 0x1.91054a7p+1,
    0x1.220a94fp+1, 0x1.1054a7fp-1, 0x1.1054a7fp+0, 0x1.1054a7fp+1, 0x1.054a7fp-2,
    0x1.054a7fp-1, 0x1.054a7fp+0, 0x1.054a7fp+1, 0x1.529fc27p-4, 0x1.529fc27p-3,
    0x1.529fc27p-2, 0x1.529fc27p-1, 0x1.529fc27p+0, 0x1.529fc27p+1, 0x1.4a7f09dp+0,
    0x1.4a7f09dp+1, 0x1.29fc275p+0, 0x1.29fc275p+1, 0x1.4fe13abp-1, 0x1.4fe13abp+0,
    0x1.4fe13abp+1, 0x1.3f84eafp+0, 0x1.3f84eafp+1, 0x1.fc2757dp-1, 0x1.fc2757dp+0,
    0x1.fc2757dp+1, 0x1.f84eafap+1, 0x1.f09d5f4p+1, 0x1.e13abe8p+1, 0x1.c2757d1p+1,
    0x1.84eafa3p+1, 0x1.09d5f47p+1, 0x1.3abe8fap-3, 0x1.3abe8fap-2, 0x1.3abe8fap-1,
    0x1.3abe8fap+0, 0x1.3abe8fap+1, 0x1.d5f47d4p-1, 0x1.d5f47d4p+0, 0x1.d5f47d4p+1,
    0x1.abe8fa9p+1, 0x1.57d1f53p+1, 0x1.5f47d4dp+0, 0x1.5f47d4dp+1, 0x1.7d1f534p+0,
    0x1.7d1f534p+1, 0x1.f47d4d3p+0, 0x1.f47d4d3p+1, 0x1.e8fa9a6p+1, 0x1.d1f534dp+1,
    0x1.a3ea69bp+1, 0x1.47d4d37p+1, 0x1.1f534ddp+0, 0x1.1f534ddp+1, 0x1.f534ddcp-2,
    0x1.f534ddcp-1, 0x1.f534ddcp+0, 0x1.f534ddcp+1, 0x1.ea69bb8p+1, 0x1.d4d377p+1,
    0x1.a9a6eep+1, 0x1.534ddcp+1, 0x1.4d37703p+0, 0x1.4d37703p+1, 0x1.34ddc0dp+0,
};
static const double turns_low[NTURN] = {
    0x1.9391054a7f09dp-30, 0x1.9391054a7f09dp-29, 0x1.9391054a7f09dp-28, 0x1.391054a7f09d6p-31,
    0x1.391054a7f09d6p-30, 0x1.c882a53f84ebp-32, 0x1.c882a53f84ebp-31, 0x1.c882a53f84ebp-30,
    0x1.c882a53f84ebp-29, 0x1.91054a7f09d5fp-29, 0x1.91054a7f09d5fp-28, 0x1.220a94fe13abfp-28,
    0x1.1054a7f09d5f4p-30, 0x1.1054a7f09d5f4p-29, 0x1.1054a7f09d5f4p-28, 0x1.054a7f09d5f48p-31,
    0x1.054a7f09d5f48p-30, 0x1.054a7f09d5f48p-29, 0x1.054a7f09d5f48p-28, 0x1.529fc2757d1f5p-33,
    0x1.529fc2757d1f5p-32, 0x1.529fc2757d1f5p-31, 0x1.529fc2757d1f5p-30, 0x1.529fc2757d1f5p-29,
    0x1.529fc2757d1f5p-28, 0x1.4a7f09d5f47d5p-29, 0x1.29fc2757d1f53p-30, 0x1.29fc2757d1f53p-29,
    0x1.29fc2757d1f53p-28, 0x1.4fe13abe8fa9ap-30, 0x1.4fe13abe8fa9ap-29, 0x1.4fe13abe8fa9ap-28,
    0x1.3f84eafa3ea6ap-29, 0x1.fc2757d1f534ep-31, 0x1.fc2757d1f534ep-30, 0x1.fc2757d1f534ep-29,
    0x1.f09d5f47d4d37p-30, 0x1.f09d5f47d4d37p-29, 0x1.f09d5f47d4d37p-28, 0x1.e13abe8fa9a6fp-28,
    0x1.c2757d1f534dep-28, 0x1.3abe8fa9a6eep-34, 0x1.3abe8fa9a6eep-33, 0x1.3abe8fa9a6eep-32,
    0x1.3abe8fa9a6eep-31, 0x1.3abe8fa9a6eep-30, 0x1.3abe8fa9a6eep-29, 0x1.3abe8fa9a6eep-28,
    0x1.5f47d4d377037p-34, 0x1.5f47d4d377037p-33, 0x1.5f47d4d377037p-32, 0x1.5f47d4d377037p-31,
    0x1.5f47d4d377037p-30, 0x1.5f47d4d377037p-29, 0x1.7d1f534ddc0dbp-30, 0x1.7d1f534ddc0dbp-29,
    0x1.f47d4d377036ep-30, 0x1.f47d4d377036ep-29, 0x1.d1f534ddc0db6p-30, 0x1.d1f534ddc0db6p-29,
    0x1.d1f534ddc0db6p-28, 0x1.47d4d377036d9p-29, 0x1.47d4d377036d9p-28, 0x1.f534ddc0db629p-33,
    0x1.f534ddc0db629p-32, 0x1.f534ddc0db629p-31, 0x1.f534ddc0db629p-30, 0x1.f534ddc0db629p-29,
    0x1.f534ddc0db629p-28, 0x1.ea69bb81b6c53p-28, 0x1.d4d377036d8a5p-28, 0x1.a9a6ee06db14bp-28,
    0x1.34ddc0db6295ap-32, 0x1.34ddc0db6295ap-31, 0x1.34ddc0db6295ap-30, 0x1.34ddc0db6295ap-29,
    0x1.34ddc0db6295ap-28, 0x1.a6ee06db14acdp-30, 0x1.a6ee06db14acdp-29, 0x1.a6ee06db14acdp-28,
    0x1.4ddc0db629599p-28, 0x1.377036d8a5665p-29, 0x1.bb81b6c52b328p-31, 0x1.bb81b6c52b328p-30,
    0x1.bb81b6c52b328p-29, 0x1.bb81b6c52b328p-28, 0x1.dc0db6295993cp-30, 0x1.dc0db6295993cp-29,
    0x1.dc0db6295993cp-28, 0x1.b81b6c52b3279p-28, 0x1.7036d8a5664f1p-28, 0x1.c0db6295993c4p-29,
    0x1.81b6c52b32788p-29, 0x1.81b6c52b32788p-28, 0x1.b6c52b3278872p-35, 0x1.b6c52b3278872p-34,
    0x1.b6c52b3278872p-33, 0x1.b6c52b3278872p-32, 0x1.b6c52b3278872p-31, 0x1.b6c52b3278872p-30,
    0x1.b6c52b3278872p-29, 0x1.b6c52b3278872p-28, 0x1.b6295993c439p-30, 0x1.b6295993c439p-29,
    0x1.6c52b32788721p-29,
};
// clang-format on

#endif
